"""What the event log is told of alerts, and what a person is told of a message that was not taken."""

from __future__ import annotations

import http.client
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from penstock.alerts import webhook as webhooks
from penstock.alerts.dispatcher import AlertDispatcher
from penstock.alerts.ledger import Ledger
from penstock.alerts.message import NotDelivered
from penstock.alerts.sending import failure, may_pass
from penstock.alerts.webhook import send_webhook
from penstock.config import Command, Destination, Webhook
from penstock.errors import ConfigError, DataError, ExternalError
from penstock.events import EventLog, EventType, Level
from penstock.events.alerts import Alert
from penstock.events.log.reader import read_events

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
STALE = ExternalError("TABLE_STALE", dataset="s.t", table="s.t", age="9 min", limit="5 min").to_json()
FIRING = Alert("freshness", "s.t", None, STALE, NOW, NOW)
RESOLVED = Alert("freshness", "s.t", None, STALE, NOW, NOW, NOW + timedelta(minutes=9))
ON_CALL = Destination("on_call", Command(("true",), Path("/")))


def _ledger(tmp_path: Path) -> tuple[Ledger, EventLog]:
    log = EventLog.open(str(tmp_path), pipeline_name="orders", update_id="u1")
    return Ledger(log), log


def test_alert_is_written_with_its_table_and_while_it_fires_with_its_error(tmp_path: Path) -> None:
    ledger, log = _ledger(tmp_path)
    with log:
        ledger.record(FIRING)
        assert ledger.firing() == (FIRING,)
        assert ledger.undelivered("on_call") == (FIRING,)
        ledger.record(RESOLVED)
        assert ledger.firing() == ()
    fired, resolved = read_events(str(tmp_path))
    assert {fired.event_type, resolved.event_type} == {EventType.ALERT}
    assert (fired.level, fired.origin.dataset_name) == (Level.WARN, "s.t")
    assert fired.error is not None
    assert fired.error["condition"] == "TABLE_STALE"
    assert (resolved.level, resolved.origin.dataset_name, resolved.error) == (Level.INFO, "s.t", None)


def test_delivery_is_written_and_what_is_delivered_is_told_no_more(tmp_path: Path) -> None:
    ledger, log = _ledger(tmp_path)
    refused = ExternalError("ALERT_NOT_DELIVERED", destination="on_call", reason="it answered 500.")
    with log:
        ledger.record(FIRING)
        ledger.failed("on_call", (FIRING,), refused)
        assert ledger.undelivered("on_call") == (FIRING,)
        ledger.delivered("on_call", (FIRING,))
        assert (ledger.undelivered("on_call"), ledger.undelivered("mail")) == ((), (FIRING,))
    _, failed, delivered = read_events(str(tmp_path))
    assert (failed.level, delivered.level) == (Level.WARN, Level.INFO)
    assert failed.error is not None
    assert failed.error["condition"] == "ALERT_NOT_DELIVERED"
    assert failed.message.endswith(refused.message)
    assert (delivered.error, delivered.details["alert_delivery"]["state"]) == (None, "DELIVERED")


def test_alert_that_cannot_be_written_is_told_all_the_same() -> None:
    log = Mock(append=Mock(side_effect=ConfigError("STORAGE_NOT_WRITABLE", path="/", reason="no space")))
    ledger = Ledger(log)
    ledger.record(FIRING)
    ledger.delivered("mail", (FIRING,))
    assert (ledger.undelivered("on_call"), ledger.undelivered("mail")) == ((FIRING,), ())
    assert log.append.call_count == 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NotDelivered("it answered 403 to s3cret", passing=False), "it answered 403 to ***."),
        (ZeroDivisionError("s3cret"), "ZeroDivisionError."),
    ],
)
def test_failure_names_the_destination_and_hides_secrets(error: Exception, reason: str) -> None:
    told = failure(ON_CALL, error, lambda text: text.replace("s3cret", "***"))
    assert (told.condition, told.facts) == ("ALERT_NOT_DELIVERED", {"destination": "on_call", "reason": reason})


def test_failure_of_the_configuration_is_told_as_it_is() -> None:
    error = ConfigError("SECRET_NOT_FOUND", secret="hook", reason="the file s3cret is empty")
    told = failure(ON_CALL, error, lambda text: text.replace("s3cret", "***"))
    assert (told.condition, told.facts["reason"]) == ("SECRET_NOT_FOUND", "the file *** is empty")


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (NotDelivered("x", passing=True), True),
        (NotDelivered("x", passing=False), False),
        (DataError("TABLE_STALE"), False),
        (None, False),
    ],
)
def test_only_a_destination_can_say_that_a_failure_may_pass(error: BaseException | None, *, passes: bool) -> None:
    assert may_pass(error) is passes


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://", "it has no host"),
        ("https:///hook", "it has no host"),
        ("ftp://alerts.example.com/hook", "it is neither https:// nor http://"),
        ("alerts", "it has no host"),
    ],
)
def test_address_that_is_not_of_the_web_is_refused_without_being_shown(url: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        send_webhook("on_call", Webhook(url), Mock(id="1", body=lambda: b"{}"))
    assert caught.value.condition == "ALERT_ADDRESS_REFUSED"
    assert caught.value.facts == {"destination": "on_call", "address": "no web address", "reason": reason}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError(110, "s3cret"), "it did not answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (ConnectionResetError(), "ConnectionResetError"),
        (http.client.BadStatusLine("s3cret"), "it is no web server (BadStatusLine)"),
        (ValueError("s3cret"), "it is no web server (ValueError)"),
    ],
)
def test_reason_of_a_webhook_that_fails_shows_no_address(error: Exception, reason: str) -> None:
    assert webhooks._reason(error) == reason


def test_certificate_that_is_not_trusted_is_no_passing_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ssl.SSLCertVerificationError("s3cret")
    error.verify_message = "self-signed certificate"
    monkeypatch.setattr(webhooks, "_connection", Mock(side_effect=error))
    with pytest.raises(NotDelivered) as caught:
        send_webhook("on_call", Webhook("https://alerts.example.com"), Mock(id="1", body=lambda: b"{}"))
    assert (caught.value.reason, caught.value.passing) == (
        "its certificate is not trusted (self-signed certificate)",
        False,
    )


@pytest.mark.parametrize(("seconds", "waited"), [(2.5, 2.5), (0, 0), (-3, 0)])
def test_courier_that_ends_waits_no_longer_than_it_may(
    monkeypatch: pytest.MonkeyPatch, seconds: float, waited: float
) -> None:
    dispatcher = AlertDispatcher(ON_CALL, Mock(), message=Mock(), redacted=str, send=Mock())
    done = Mock()
    monkeypatch.setattr(dispatcher, "_done", done)
    dispatcher.finish(seconds)
    done.wait.assert_called_once_with(waited)
    monkeypatch.setattr(dispatcher, "_failing", True)
    dispatcher.finish(seconds)
    done.wait.assert_called_once_with(waited)
