"""What a read of Kafka, or a sink, connects to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from penstock.connectors.kafka.brokers import addresses

_PREFIX: Final = "kafka."


@dataclass(frozen=True, slots=True, repr=False)
class KafkaEndpoint:
    """A cluster and the topics that must be there. `settings` are those of Kafka's client, and can hold secrets.

    `topics` gives for each topic the highest partition that is asked for, -1 for none in particular. Whoever
    `writes` may let the broker make the topic.
    """

    settings: Mapping[str, str]
    topics: Mapping[str, int]
    writes: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str], *, writes: bool = False) -> KafkaEndpoint:
        """Returns what the options of a source or a sink connect to; a pattern asks for no topic in particular."""
        settings = {key[len(_PREFIX) :]: value for key, value in options.items() if key.casefold().startswith(_PREFIX)}
        given = {key.casefold(): value for key, value in options.items()}
        topics = dict.fromkeys((topic.strip() for topic in given.get("subscribe", "").split(",")), -1)
        if writes:
            topics = {given.get("topic", "").strip(): -1}
        topics.update(_assigned(given.get("assign", "")))
        topics.pop("", None)
        return cls(settings, topics, writes)

    @property
    def servers(self) -> list[str]:
        """The `host:port` of each bootstrap server."""
        return addresses(self.settings.get("bootstrap.servers"))

    @property
    def protocol(self) -> str:
        """The security protocol; Kafka's own default is PLAINTEXT."""
        return self.settings.get("security.protocol", "PLAINTEXT").upper()


def _assigned(text: str) -> dict[str, int]:
    """What Spark cannot read either, it says itself."""
    try:
        return {str(topic): max(map(int, partitions), default=-1) for topic, partitions in json.loads(text).items()}
    except (AttributeError, TypeError, ValueError):
        return {}
