"""When a flow starts its next batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from penstock.config.values.interval import parse_interval
from penstock.errors import ConfigError, did_you_mean


class TriggerKind(Enum):
    """Spark's kinds of triggers, by the names that a pipeline file uses."""

    AVAILABLE_NOW = "available_now"
    PROCESSING_TIME = "processing_time"
    ONCE = "once"
    REAL_TIME = "real_time"


_WITH_INTERVAL = (TriggerKind.PROCESSING_TIME, TriggerKind.REAL_TIME)
_CONTINUOUS = "continuous"  # docs/decisions/no-continuous-processing.md
_BY_NAME = {kind.value.replace("_", ""): kind for kind in TriggerKind}


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a flow starts its next batch.

    `interval` is a length of time as `parse_interval` reads it: the shortest time between two
    batches (PROCESSING_TIME; None means at once), or between two checkpoints (REAL_TIME; None means
    five minutes). AVAILABLE_NOW and ONCE process what is there, then stop, and have no interval.
    """

    kind: TriggerKind
    interval: str | None = None

    @classmethod
    def parse(cls, value: str | Mapping[str, str]) -> Trigger:
        """Reads a trigger as a pipeline file or `--trigger` spells it.

        Accepts a name (`available_now`, `AvailableNow`), an interval (`10 seconds`) or a mapping
        of one name to an interval (`{real_time: 1 minute}`).

        Raises:
            ConfigError: CONFIG_INVALID_TRIGGER, CONFIG_TRIGGER_CONTINUOUS.
        """
        if is_continuous(value if isinstance(value, str) else next(iter(value), "")):
            raise ConfigError("CONFIG_TRIGGER_CONTINUOUS")
        if isinstance(value, str):
            return cls._of_text(value)
        if len(value) != 1:
            raise _refused(", ".join(value), "Give exactly one of: processing_time, real_time.")
        [(name, interval)] = value.items()
        kind = trigger_kind(name)
        if kind not in _WITH_INTERVAL:
            names = [kind.value for kind in _WITH_INTERVAL]
            raise _refused(name, did_you_mean(name, names, also=f"Known with an interval: {', '.join(names)}."))
        return cls(kind, _checked(interval))

    @classmethod
    def _of_text(cls, text: str) -> Trigger:
        kind = trigger_kind(text)
        if kind is not None:
            return cls(kind)
        if not any(character.isdigit() for character in text):
            raise _refused(text, did_you_mean(text, [kind.value for kind in TriggerKind]))
        return cls(TriggerKind.PROCESSING_TIME, _checked(text))

    @property
    def stops(self) -> bool:
        """Whether the flow ends by itself, once it has processed what was there."""
        return self.kind in (TriggerKind.AVAILABLE_NOW, TriggerKind.ONCE)

    def __str__(self) -> str:
        return self.kind.value if self.interval is None else f"{self.kind.value} {self.interval}"


def effective_trigger(trigger: Trigger | None, *, continuous: bool) -> Trigger:
    """Returns the trigger that a run uses.

    Without one, a continuous run starts each batch when the last one ended, any other run processes
    what is available. `continuous` outweighs a trigger that would stop, so that an environment can
    say `continuous: true` over a file that says `trigger: available_now`.
    """
    if continuous and (trigger is None or trigger.stops):
        return Trigger(TriggerKind.PROCESSING_TIME)
    return trigger or Trigger(TriggerKind.AVAILABLE_NOW)


def trigger_kind(name: str) -> TriggerKind | None:
    """Returns the kind of trigger of that name, in the spelling of any documentation, or None."""
    return _BY_NAME.get(_plain(name))


def is_continuous(name: str) -> bool:
    """Whether the name is that of Spark's continuous processing, in the spelling of any documentation."""
    return _plain(name) == _CONTINUOUS


def _plain(name: str) -> str:
    return name.strip().casefold().replace("_", "").replace("-", "").replace(" ", "")


def _checked(interval: str) -> str:
    try:
        parse_interval(interval)
    except ConfigError as error:
        raise _refused(interval, error.facts["suggestion"]) from None
    return interval.strip()


def _refused(trigger: str, suggestion: str) -> ConfigError:
    return ConfigError("CONFIG_INVALID_TRIGGER", trigger=trigger, suggestion=suggestion)
