from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import parse_interval
from penstock.errors import ConfigError

UNITS = {
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 604800,
}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10 seconds", 10),
        ("1 second", 1),
        ("0 seconds", 0),
        ("500 milliseconds", 0.5),
        ("  INTERVAL 5 Minutes ", 300),
        ("1 hour 30 minutes", 5400),
        ("1.5 seconds", 1.5),
        ("2 weeks", 1_209_600),
        ("10seconds", 10),
    ],
)
def test_accepted(text: str, seconds: float) -> None:
    assert parse_interval(text) == seconds


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(sorted(UNITS)), st.booleans()), min_size=1, max_size=4))
def test_terms_add_up(terms: list[tuple[int, str, bool]]) -> None:
    text = " ".join(f"{number} {unit}{'s' * plural}" for number, unit, plural in terms)
    assert parse_interval(text) == pytest.approx(sum(number * UNITS[unit] for number, unit, _ in terms))


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("", ""),
        ("  ", ""),
        ("interval", ""),
        ("10", ""),
        ("seconds", ""),
        ("-1 seconds", ""),
        ("1 second and", ""),
        ("1 month", ""),
        ("9999999999 weeks", ""),
        ("10s", "Did you mean '10 seconds'?"),
        ("5 min", "Did you mean '5 minutes'?"),
        ("10 secods", "Did you mean 'seconds' or 'milliseconds'?"),
    ],
)
def test_refused(text: str, suggestion: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_interval(text)
    assert raised.value.condition == "INVALID_INTERVAL"
    assert raised.value.facts == {"interval": text, "suggestion": suggestion}


@given(st.text())
def test_any_text_is_seconds_or_refused(text: str) -> None:
    try:
        assert parse_interval(text) >= 0
    except ConfigError as error:
        assert error.condition == "INVALID_INTERVAL"  # noqa: PT017 - both outcomes are right
