"""What the checks need of a pipeline's settings: plain values without secrets, which can go to another process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from penstock.config import PipelineConfig, TriggerKind, parse_interval
from penstock.config.values.secret import REFERENCE
from penstock.errors.secret_names import REDACTED_KEYS, is_secret, names_secret

_REDACTED: Final = re.compile(REDACTED_KEYS)


@dataclass(frozen=True, slots=True)
class SettingsFacts:
    """The settings that a run would use.

    Attributes:
        file: the pipeline file as the user would type it.
        master: where Spark runs.
        local: whether tasks run in the driver's own process.
        cores: of a local master; None of a cluster.
        trigger: its kind and interval as a pipeline file spells them.
        once: whether the trigger is the deprecated `once`.
        continuous: whether a run continues until it is stopped.
        interval: seconds between two batches; None without an interval.
        conf: Spark's settings as the session gets them, those of secrets without their values.
        authenticated: whether `spark.authenticate` is in force.
        plain_secrets: the keys of settings whose value is a secret in clear text.
        watched: what alerts are declared for, such as `orders` or `*`, with their rules.
        destinations: who gets the alerts.
        metrics: where metrics go, in words.
        maintenance: whether runs maintain their tables.
        event_log_retention: seconds; None: events are kept for ever.
        storage_access: who may read the storage, as the file says.
        catalogs: in which tables are registered, by their name in the file.
    """

    file: str
    master: str
    local: bool
    cores: int | None
    trigger: str
    once: bool
    continuous: bool
    interval: float | None
    conf: Mapping[str, str] = field(default_factory=dict)
    authenticated: bool = True
    plain_secrets: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    maintenance: bool = True
    event_log_retention: float | None = None
    storage_access: str | None = None
    catalogs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns what `from_json` reads in another process."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> SettingsFacts:
        """Returns what `to_json` wrote."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in document.items()
        }
        return cls(**values)


def settings_facts(
    config: PipelineConfig, conf: Mapping[str, str], *, cores: int | None, authenticated: bool
) -> SettingsFacts:
    """Returns the facts of a pipeline's settings.

    Args:
        config: The pipeline's settings.
        conf: Spark's settings as its session gets them, secrets as references.
        cores: Those of a local master, None of a cluster.
        authenticated: Whether the session takes messages only of who knows its secret.
    """
    metrics = config.metrics
    published = {
        f"http port {metrics.port} at {metrics.address}": metrics.port,
        f"file {metrics.textfile}": metrics.textfile,
        "OTLP": metrics.otlp,
    }
    return SettingsFacts(
        file=str(config.file),
        master=config.master,
        local=cores is not None,
        cores=cores,
        trigger=str(config.trigger),
        once=config.trigger.kind is TriggerKind.ONCE,
        continuous=config.keeps_running,
        interval=None if config.trigger.interval is None else parse_interval(config.trigger.interval),
        conf={key: "***" if _REDACTED.search(key) else value for key, value in conf.items()},
        authenticated=authenticated,
        plain_secrets=tuple(sorted({*_plain(config.spark_conf), *_plain(config.configuration)})),
        watched=tuple(config.alerts.tables),
        destinations=tuple(each.name for each in config.alerts.destinations),
        metrics=tuple(words for words, declared in published.items() if declared is not None),
        maintenance=config.maintenance.automatic,
        event_log_retention=config.event_log_retention,
        storage_access=config.storage_access,
        catalogs=tuple(each.name for each in config.catalogs),
    )


def _plain(values: Mapping[str, str]) -> list[str]:
    """Returns the keys whose value is a secret, and not a reference to one."""
    return [
        key
        for key, value in values.items()
        if value and not REFERENCE.search(value) and (names_secret(key) or is_secret(key, value))
    ]
