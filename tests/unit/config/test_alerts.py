"""The section `alerts` of a pipeline file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.conftest import Project, errors_of

from penstock.config import Command, Email, PipelineConfig, SecretReference, TableAlerts, Webhook, load_project
from penstock.errors import PenstockError

ENVIRON = {"HOOK": "s3cret", "PW": "pa55"}


def load(project: Project, alerts: str) -> PipelineConfig:
    folder = project("name: orders\nsecrets: {hook: '${env:HOOK}'}\nalerts:\n" + alerts)
    return load_project(folder, environ=ENVIRON)


def errors(project: Project, alerts: str) -> list[tuple[str, int | None]]:
    with pytest.raises(PenstockError) as failed:
        load(project, alerts)
    return [(one.condition, one.location.line if one.location else None) for one in errors_of(failed.value)]


def test_tables_and_destinations(project: Project) -> None:
    config = load(
        project,
        """\
  keep_firing_for: 1 minute
  tables:
    "*": {freshness: 1 hour, failed: false}
    shop.orders: {expectations: 99.5 %, no_input: 5 minutes, falling_behind: 10 minutes}
  destinations:
    a: {webhook: {url: 'https://x.example/y', secret: '${secret:hook}', ca_file: ca.pem, allow_loopback_http: true}}
    b: {email: {host: m.example, from: a@b.c, to: 'd@e.f, g@h.i', port: 25, username: me, password: '${env:PW}'}}
    c: {command: {run: [notify, 1, true]}}
""",
    )
    folder = config.directory
    alerts = config.alerts
    assert alerts.keep_firing_for == 60
    assert alerts.of("shop.ORDERS") == TableAlerts(3600, 300, 600, 0.995, True, False, True, True)
    a, b, c = (each.way for each in alerts.destinations)
    assert isinstance(a, Webhook)
    assert isinstance(a.secret, SecretReference)
    assert (a.url, a.secret.resolve(), a.ca_file) == ("https://x.example/y", "s3cret", folder / "ca.pem")
    assert isinstance(b, Email)
    assert (b.to, b.port, b.password and b.password.resolve()) == (("d@e.f", "g@h.i"), 25, "pa55")
    assert c == Command(("notify", "1", "true"), folder)
    assert config.redact("s3cret and pa55") == "*** and ***"
    assert "pa55" not in repr(config)


def test_an_environment_replaces_tables_or_destinations(project: Project) -> None:
    folder = project(
        "name: orders\nalerts: {tables: {t: {freshness: 1 hour}}, destinations: {a: {command: {run: [x]}}}}\n"
        "environments: {dev: {alerts: {destinations: {}}}}\n"
    )
    alerts = load_project(folder, environment="dev").alerts
    assert (alerts.destinations, list(alerts.tables)) == ((), ["t"])


def test_an_environment_watches_tables_for_something_else(project: Project) -> None:
    folder = project(
        "name: orders\nalerts: {tables: {'*': {freshness: 1 day}, t: {no_input: 1 day}}, keep_firing_for: 1 minute}\n"
        "environments: {prod: {alerts: {tables: {'*': {freshness: 1 hour}}}}}\n"
    )
    assert load_project(folder).alerts.of("shop.t") == TableAlerts(86400, 86400, None, None, True, True, True, True)
    prod = load_project(folder, environment="prod").alerts
    assert prod.of("shop.t") == TableAlerts(3600, None, None, None, True, True, True, True)
    assert prod.keep_firing_for == 60


@pytest.mark.parametrize(
    ("alerts", "condition", "line"),
    [
        ("  tables: {t: {fresh: 1 hour}}\n", "CONFIG_UNKNOWN_KEY", 4),
        ("  tables:\n    t:\n      freshness: soon\n", "INVALID_INTERVAL", 6),
        ("  tables: {t: {expectations: 99}}\n", "CONFIG_WRONG_TYPE", 4),
        ("  tables: {t: {expectations: 101 %}}\n", "CONFIG_INVALID_VALUE", 4),
        ("  destinations: {a: {webhook: {url: ftp://x}}}\n", "CONFIG_INVALID_VALUE", 4),
        ("  destinations: {a: {webhook: {}}}\n", "CONFIG_MISSING_KEY", 4),
        ("  destinations: {a: {webhook: {url: 'https://me:pw@x.example'}}}\n", "CONFIG_SECRET_LITERAL", 4),
        ("  destinations: {a: {webhook: {url: 'https://x.example/${env:A}'}}}\n", "CONFIG_SECRET_LITERAL", 4),
        ("  destinations: {a: {webhook: {url: 'https://x', secret: abc}}}\n", "CONFIG_SECRET_LITERAL", 4),
        ("  destinations: {a: {webhook: {url: 'https://x', secret: '${secret:no}'}}}\n", "CONFIG_UNKNOWN_SECRET", 4),
        ("  destinations: {a: {email: {host: m, from: a, to: b@c}}}\n", "CONFIG_INVALID_VALUE", 4),
        ('  destinations: {a: {email: {host: m, from: a@b, to: "b@c\\nBcc: x@y"}}}\n', "CONFIG_INVALID_VALUE", 4),
        ("  destinations: {a: {command: {run: notify}}}\n", "CONFIG_WRONG_TYPE", 4),
        ("  destinations: {a: {command: {run: []}}}\n", "CONFIG_WRONG_TYPE", 4),
        ("  destinations: {a: {command: {run: [[x]]}}}\n", "CONFIG_WRONG_TYPE", 4),
        ("  destinations: {a: {command: {run: [x]}, webhook: {url: 'https://x'}}}\n", "CONFIG_CONFLICTING_KEYS", 4),
        ("  destinations: {a: {}}\n", "CONFIG_MISSING_KEY", 4),
        ("  destinations: {a: }\n", "CONFIG_WRONG_TYPE", 4),
        ("  destinations: {a: {webhook: }}\n", "CONFIG_WRONG_TYPE", 4),
    ],
)
def test_what_is_wrong_has_a_name_and_a_line(project: Project, alerts: str, condition: str, line: int) -> None:
    assert errors(project, alerts) == [(condition, line)]


def test_a_secret_is_not_repeated(project: Project) -> None:
    with pytest.raises(PenstockError) as failed:
        load(project, "  destinations: {a: {webhook: {url: 'https://me:hunter2@x.example'}}}\n")
    assert "hunter2" not in str(failed.value) + str(failed.value.facts)


def test_a_certificate_beside_the_pipeline_file(project: Project, tmp_path: Path) -> None:
    config = load(project, "  destinations: {a: {webhook: {url: 'https://x', ca_file: /etc/ca.pem}}}\n")
    way = config.alerts.destinations[0].way
    assert isinstance(way, Webhook)
    assert way.ca_file == Path("/etc/ca.pem")
