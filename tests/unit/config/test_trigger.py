from __future__ import annotations

from collections.abc import Mapping

import pytest

from penstock.config import Trigger, TriggerKind, effective_trigger
from penstock.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "kind", "interval"),
    [
        ("available_now", TriggerKind.AVAILABLE_NOW, None),
        ("AvailableNow", TriggerKind.AVAILABLE_NOW, None),
        ("once", TriggerKind.ONCE, None),
        ("RealTime", TriggerKind.REAL_TIME, None),
        ("processing_time", TriggerKind.PROCESSING_TIME, None),
        ("10 seconds", TriggerKind.PROCESSING_TIME, "10 seconds"),
        ({"processing_time": "1 minute"}, TriggerKind.PROCESSING_TIME, "1 minute"),
        ({"real_time": "5 minutes"}, TriggerKind.REAL_TIME, "5 minutes"),
    ],
)
def test_accepted(written: str | Mapping[str, str], kind: TriggerKind, interval: str | None) -> None:
    trigger = Trigger.parse(written)
    assert trigger == Trigger(kind, interval)
    assert trigger.stops is (kind in {TriggerKind.AVAILABLE_NOW, TriggerKind.ONCE})
    assert str(trigger) == (kind.value if interval is None else f"{kind.value} {interval}")


@pytest.mark.parametrize(
    ("written", "trigger"),
    [
        ("", ""),
        ("sometimes", "sometimes"),
        ("10 parsecs", "10 parsecs"),
        ({}, ""),
        ({"once": "1 second"}, "once"),
        ({"real_time": "now"}, "now"),
        ({"processing_time": "1 second", "real_time": "1 second"}, "processing_time, real_time"),
    ],
)
def test_refused(written: str | Mapping[str, str], trigger: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Trigger.parse(written)
    assert raised.value.condition == "CONFIG_INVALID_TRIGGER"
    assert raised.value.facts["trigger"] == trigger


@pytest.mark.parametrize("written", ["continuous", "Continuous", {"continuous": "1 second"}])
def test_continuous_processing_is_refused_by_name(written: str | Mapping[str, str]) -> None:
    with pytest.raises(ConfigError) as raised:
        Trigger.parse(written)
    assert raised.value.condition == "CONFIG_TRIGGER_CONTINUOUS"


def test_continuous_outweighs_a_trigger_that_stops() -> None:
    timed = Trigger(TriggerKind.PROCESSING_TIME, "1 second")
    assert effective_trigger(None, continuous=False) == Trigger(TriggerKind.AVAILABLE_NOW)
    assert effective_trigger(None, continuous=True) == Trigger(TriggerKind.PROCESSING_TIME)
    assert effective_trigger(Trigger(TriggerKind.ONCE), continuous=True) == Trigger(TriggerKind.PROCESSING_TIME)
    assert effective_trigger(timed, continuous=False) == effective_trigger(timed, continuous=True) == timed
