"""What a pipeline file says about alerts: which tables are watched for what, and who gets the alerts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from penstock.config.secret import SecretReference

ALL_TABLES = "*"


@dataclass(frozen=True, slots=True)
class TableAlerts:
    """For what a table is watched; None is what the entry leaves to `*`, and what that leaves out is not watched.

    Times are seconds: `freshness` how old the newest commit may be, `no_input` how long a flow may read no rows,
    `falling_behind` how long one may take rows more slowly than they arrive. `expectations` is the least share of
    rows, from 0 to 1, that each rule of the table must find good. The others are on unless they are false.
    """

    freshness: float | None = None
    no_input: float | None = None
    falling_behind: float | None = None
    expectations: float | None = None
    watermark_stalled: bool | None = None
    failed: bool | None = None
    accounting: bool | None = None
    cluster: bool | None = None

    def over(self, base: TableAlerts) -> TableAlerts:
        """Returns these settings with those of `base` where this entry says nothing."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return TableAlerts(**{name: getattr(base, name) if value is None else value for name, value in own.items()})


_ALWAYS = TableAlerts(watermark_stalled=True, failed=True, accounting=True, cluster=True)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver of POST requests. `url` and `secret`, with which they are signed, may be references."""

    url: str | SecretReference
    secret: SecretReference | None = None
    allow_loopback_http: bool = False
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Email:
    """A mail server, to which the connection is encrypted by STARTTLS, and for whom the mail is."""

    host: str
    sender: str
    to: tuple[str, ...]
    port: int = 587
    username: str | None = None
    password: SecretReference | None = None
    allow_loopback_plain: bool = False
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, run in the pipeline's `folder` without a shell."""

    run: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class Destination:
    """Who gets the alerts, under the name that events and messages show."""

    name: str
    way: Webhook | Email | Command


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """All of the file's `alerts`. An alert is resolved when its cause has been away for `keep_firing_for` seconds."""

    tables: Mapping[str, TableAlerts] = field(default_factory=dict)
    destinations: tuple[Destination, ...] = ()
    keep_firing_for: float = 300.0

    @property
    def declared(self) -> bool:
        """Whether the file asks for alerts at all."""
        return bool(self.tables or self.destinations)

    def of(self, dataset: str) -> TableAlerts:
        """Returns for what a dataset (`schema.name`, any case) is watched."""
        name = dataset.casefold()
        by_name = {key.casefold(): settings for key, settings in self.tables.items()}
        own = by_name.get(name) or by_name.get(name.rpartition(".")[2]) or TableAlerts()
        return own.over(self.of_pipeline)

    @property
    def of_pipeline(self) -> TableAlerts:
        """What holds for all tables, and for the pipeline as a whole."""
        return self.tables.get(ALL_TABLES, TableAlerts()).over(_ALWAYS)
