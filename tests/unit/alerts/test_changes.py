"""What is told, and when: once when it begins, once when it is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock.alerts.changes import changes
from penstock.alerts.finding import Finding
from penstock.events import EventType
from penstock.events.alerts import Alert, AlertState, DeliveryState, alert, alert_delivery, alert_of, delivery_of
from penstock.events.types import Event, Level, Origin
from penstock.observe.status import alerts
from penstock.observe.status.alerts import AlertProjection

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
KEPT = timedelta(minutes=5)
ERROR = {"condition": "TABLE_STALE", "message": "it is stale", "fix": "do something"}


def finding(*, wrong: bool, since: datetime = START) -> Finding:
    return Finding("freshness", "s.t", None, since, ERROR if wrong else None)


def told(found: list[Finding], firing: list[Alert], after: timedelta) -> list[Alert]:
    return list(changes(found, firing, now=START + after, keep_firing_for=KEPT))


def fired(after: timedelta = timedelta()) -> Alert:
    (alert,) = told([finding(wrong=True)], [], after)
    return alert


def test_what_is_wrong_fires_at_once_and_only_once() -> None:
    alert = fired(timedelta(minutes=1))
    assert (alert.state, alert.since, alert.fired) == (AlertState.FIRING, START, START + timedelta(minutes=1))
    assert told([finding(wrong=True)], [alert], timedelta(hours=9)) == []


def test_it_is_resolved_when_it_has_been_well_for_long_enough() -> None:
    alert, well = fired(), finding(wrong=False, since=START + timedelta(minutes=10))
    assert told([well], [alert], timedelta(minutes=14, seconds=59)) == []
    (over,) = told([well], [alert], timedelta(minutes=15))
    assert (over.state, over.id, over.error) == (AlertState.RESOLVED, alert.id, ERROR)
    assert told([well], [], timedelta(hours=9)) == []


def test_what_comes_and_goes_is_one_alert() -> None:
    alert = fired()
    for minute in range(1, 200):
        found = finding(wrong=minute % 2 == 0, since=START + timedelta(minutes=minute))
        assert told([found], [alert], timedelta(minutes=minute, seconds=30)) == []


def test_what_nobody_watches_any_more_is_resolved() -> None:
    (over,) = told([], [fired()], timedelta(seconds=1))
    assert over.state is AlertState.RESOLVED


def test_names_compare_without_regard_to_case() -> None:
    found = Finding("freshness", "S.T", None, START, ERROR)
    assert told([found], [fired()], timedelta(minutes=1)) == []


def test_the_next_time_is_another_alert() -> None:
    assert fired().id != fired(timedelta(hours=1)).id


def event(event_type: EventType, built: tuple[str, dict[str, object]]) -> Event:
    return Event("e", 1, START, Origin("p", "u"), Level.INFO, event_type, *built)


def test_an_alert_is_read_back_from_its_event() -> None:
    (over,) = told([], [fired()], timedelta(seconds=1))
    for one in (fired(), over):
        assert alert_of(event(EventType.ALERT, alert(one))) == one
    assert alert_of(event(EventType.ALERT, ("x", {"alert": {"rule": "freshness", "fired": "nonsense"}}))) is None
    assert alert_of(event(EventType.ALERT, ("x", {"alert": 3}))) is None
    assert delivery_of(event(EventType.ALERT_DELIVERY, ("x", {"alert_delivery": {"state": "DELIVERED"}}))) is None


def delivered(to: str, *alerts: Alert) -> Event:
    return event(EventType.ALERT_DELIVERY, alert_delivery(to, DeliveryState.DELIVERED, alerts))


def test_each_destination_is_told_what_it_does_not_know() -> None:
    projection, one = AlertProjection(), fired()
    projection.apply(event(EventType.ALERT, alert(one)))
    assert projection.undelivered("a") == projection.undelivered("b") == projection.firing() == (one,)
    projection.apply(delivered("a", one))
    assert (projection.undelivered("a"), projection.undelivered("b")) == ((), (one,))
    (over,) = told([], [one], timedelta(seconds=1))
    projection.apply(event(EventType.ALERT, alert(over)))
    assert projection.firing() == ()
    assert projection.undelivered("a") == (over,), "it must be told that it is over"
    assert projection.undelivered("b") == (), "it never knew"
    projection.apply(delivered("a", over))
    assert projection.undelivered("a") == ()


def test_a_failed_delivery_is_none() -> None:
    projection, one = AlertProjection(), fired()
    projection.apply(event(EventType.ALERT, alert(one)))
    projection.apply(event(EventType.ALERT_DELIVERY, alert_delivery("a", DeliveryState.FAILED, [one], reason="x")))
    assert projection.undelivered("a") == (one,)


def test_a_destination_that_took_the_alert_when_it_was_over_is_told_so() -> None:
    """It was being told while the alert ended."""
    projection, one = AlertProjection(), fired()
    projection.apply(event(EventType.ALERT, alert(one)))
    (over,) = told([], [one], timedelta(seconds=1))
    projection.apply(event(EventType.ALERT, alert(over)))
    projection.apply(delivered("a", one))
    assert projection.undelivered("a") == (over,)


def test_a_log_of_years_takes_little_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "MAX_RESOLVED", 3)
    projection = AlertProjection()
    for hour in range(50):
        one = fired(timedelta(hours=hour))
        projection.apply(event(EventType.ALERT, alert(one)))
        projection.apply(delivered("a", one))
        (over,) = told([], [one], timedelta(hours=hour, minutes=1))
        projection.apply(event(EventType.ALERT, alert(over)))
        projection.apply(delivered("a", over))
    assert (len(projection._resolved), projection._reported_firing) == (3, {"a": set()})
