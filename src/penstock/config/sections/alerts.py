"""What a pipeline file says about alerts: which tables are watched for what, and who gets the alerts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from penstock.config.references import reference, web_address
from penstock.config.shapes import Count, Flag, Key, MapOf, Section, Text, TextList, matching
from penstock.config.values.interval import interval_of_key
from penstock.config.values.secret import SecretReference
from penstock.errors import ConfigError
from penstock.graph.identifier import names_of_recorded, recorded_name

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
        """Returns for what a dataset (as the event log spells it, any case) is watched."""
        by_name = {key.casefold(): settings for key, settings in self.tables.items()}
        own = next((by_name[each] for each in names_of_recorded(dataset) if each in by_name), TableAlerts())
        return own.over(self.of_pipeline)

    def within(self, catalog: str | None) -> AlertSettings:
        """Returns these settings with tables as the event log of a pipeline of that catalog spells them."""
        return replace(self, tables={recorded_name(name, catalog): entry for name, entry in self.tables.items()})

    @property
    def of_pipeline(self) -> TableAlerts:
        """What holds for all tables, and for the pipeline as a whole."""
        return self.tables.get(ALL_TABLES, TableAlerts()).over(_ALWAYS)


_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%")


def _share(key: str, text: str) -> float:
    match = _PERCENT.fullmatch(text.strip())
    if match is None or float(match.group(1)) > 100:
        expected = "a share of rows from 0 % to 100 %"
        raise ConfigError("CONFIG_INVALID_VALUE", key=key, value=text, expected=expected, example="99.5 %")
    return float(match.group(1)) / 100


_mail_address = matching(r"[^\s@<>,]+@[^\s@<>,]+", "an e-mail address", "ops@example.com")


def _mail_addresses(key: str, text: str) -> tuple[str, ...]:
    return tuple(_mail_address(key, each.strip()) for each in text.split(","))


_CA_FILE = Key("ca_file", Text(), "A PEM file of certificates to trust instead of the system's.", "ca.pem")
_TABLE = Section(
    (
        Key("freshness", Text(interval_of_key), "The maximum age of the table's newest commit.", "5 minutes"),
        Key(
            "no_input",
            Text(interval_of_key),
            "The maximum time in which a flow into the table reads no rows.",
            "30 minutes",
        ),
        Key(
            "falling_behind",
            Text(interval_of_key),
            "The maximum time in which rows arrive faster than they are processed.",
            "10 minutes",
        ),
        Key("expectations", Text(_share), "The minimum share of rows that must pass each expectation.", "99.5 %"),
        Key("watermark_stalled", Flag(), "Whether a watermark that does not advance raises an alert.", "false", "true"),
        Key("failed", Flag(), "Whether a flow that fails raises an alert; below '*', also an update.", "false", "true"),
        Key("accounting", Flag(), "Whether rows that do not add up raise an alert.", "false", "true"),
        Key(
            "cluster", Flag(), "Below '*': whether lost executors, and a lost master, raise an alert.", "false", "true"
        ),
    )
)
_DESTINATION = Section(
    (
        Key(
            "webhook",
            Section(
                (
                    Key(
                        "url",
                        Text(web_address),
                        "The address that alerts are posted to.",
                        "https://alerts.example.com/penstock",
                        required=True,
                    ),
                    Key("secret", Text(reference), "The key that signs requests (HMAC).", '"${env:ALERT_SECRET}"'),
                    Key("allow_loopback_http", Flag(), "Whether http:// to this machine is allowed.", "true", "false"),
                    _CA_FILE,
                )
            ),
            "A receiver of signed requests.",
            "{url: https://alerts.example.com/penstock}",
        ),
        Key(
            "email",
            Section(
                (
                    Key("host", Text(), "The mail server.", "smtp.example.com", required=True),
                    Key("port", Count(), "Its port.", "25", "587"),
                    Key("from", Text(_mail_address), "The sender.", "penstock@example.com", required=True),
                    Key(
                        "to",
                        Text(_mail_addresses),
                        "The recipients, separated by commas.",
                        "ops@example.com",
                        required=True,
                    ),
                    Key("username", Text(), "The user name of the login.", "penstock"),
                    Key("password", Text(reference), "The password of the login.", '"${env:MAIL_PASSWORD}"'),
                    Key("allow_loopback_plain", Flag(), "Whether this machine needs no STARTTLS.", "true", "false"),
                    _CA_FILE,
                )
            ),
            "An e-mail.",
            "{host: smtp.example.com, from: penstock@example.com, to: ops@example.com}",
        ),
        Key(
            "command",
            Section((Key("run", TextList(), "The program and its arguments.", "[notify, --urgent]", required=True),)),
            "A program; it gets the message as JSON on its standard input.",
            "{run: [notify, --urgent]}",
        ),
    ),
    one_of=True,
)

ALERTS = Section(
    (
        Key(
            "tables",
            MapOf(_TABLE),
            "The alert rules of each table; '*' is every table.",
            "{orders: {freshness: 5 minutes}}",
        ),
        Key(
            "destinations",
            MapOf(_DESTINATION),
            "Where alerts are sent.",
            "{on_call: {webhook: {url: https://alerts.example.com/penstock}}}",
        ),
        Key(
            "keep_firing_for",
            Text(interval_of_key),
            "How long the cause must be gone before an alert is resolved.",
            "1 minute",
            "5 minutes",
        ),
    )
)


def alert_settings(values: Mapping[str, Any], folder: Path, catalog: str | None = None) -> AlertSettings:
    """Returns the settings of the values of a file's section `alerts`; paths in it are relative to `folder`.

    Names of tables may begin with the pipeline's own `catalog`.
    """
    tables = {_without(catalog, name): TableAlerts(**table) for name, table in (values.get("tables") or {}).items()}
    destinations = tuple(
        Destination(name, _way(destination, folder)) for name, destination in (values.get("destinations") or {}).items()
    )
    optional = {"keep_firing_for": values["keep_firing_for"]} if "keep_firing_for" in values else {}
    return AlertSettings(tables, destinations, **optional)


def _without(catalog: str | None, name: str) -> str:
    own = f"{catalog}.".casefold()
    return name[len(own) :] if name.count(".") == 2 and name.casefold().startswith(own) else name


def _way(destination: Mapping[str, Any], folder: Path) -> Webhook | Email | Command:
    [(kind, given)] = destination.items()
    values = dict(given)
    if "ca_file" in values:
        values["ca_file"] = folder / os.path.expanduser(values["ca_file"])
    if kind == "webhook":
        return Webhook(**values)
    if kind == "email":
        return Email(sender=values.pop("from"), **values)
    return Command(tuple(values["run"]), folder)
