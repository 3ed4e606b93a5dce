"""Lengths of time as Spark writes them: `10 seconds`, `1 hour 30 minutes`."""

from __future__ import annotations

import re

from penstock.errors import ConfigError, did_you_mean

_SECONDS = {
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3_600.0,
    "day": 86_400.0,
    "week": 604_800.0,
}
_SHORT = {
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "sec": "seconds",
    "m": "minutes",
    "min": "minutes",
}
_SHORT |= {"h": "hours", "hr": "hours", "d": "days", "w": "weeks"}
_TERM = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([a-z]+)\s*")
_LONGEST = 100 * 366 * 86_400.0  # beyond a century, a typing error is likelier than a wish


def parse_interval(text: str) -> float:
    """Returns the seconds of a length of time.

    Accepts Spark's units (microsecond to week, singular or plural, any case), several of them in a
    row, and a leading `interval`. Months and years have no fixed length and are refused, as are
    abbreviations, because Spark does not read them either.

    Raises:
        ConfigError: INVALID_INTERVAL.
    """
    rest = text.strip().lower().removeprefix("interval ").strip()
    total = 0.0
    while match := _TERM.match(rest):
        unit = match.group(2).removesuffix("s") if len(match.group(2)) > 2 else match.group(2)
        if unit not in _SECONDS:
            raise ConfigError("INVALID_INTERVAL", interval=text, suggestion=_suggestion(match.group(1), match.group(2)))
        total += float(match.group(1)) * _SECONDS[unit]
        rest = rest[match.end() :]
        if not rest:
            break
    if rest or not text.strip() or total > _LONGEST:
        raise ConfigError("INVALID_INTERVAL", interval=text, suggestion="")
    return total


def interval_of_key(key: str, text: str) -> float:
    """Parses the value of a key that is a length of time."""
    return parse_interval(text)


def pause_of_key(key: str, text: str) -> float:
    """Parses the value of a key that says how long to wait before the next time: at least a second.

    Raises:
        ConfigError: INVALID_INTERVAL, CONFIG_INVALID_VALUE.
    """
    seconds = parse_interval(text)
    if seconds < 1:
        raise ConfigError(
            "CONFIG_INVALID_VALUE", key=key, value=text, expected="at least '1 second'", example="30 seconds"
        )
    return seconds


def _suggestion(number: str, unit: str) -> str:
    if unit in _SHORT:
        return f"Did you mean '{number} {_SHORT[unit]}'?"
    return did_you_mean(unit, [f"{name}s" for name in _SECONDS])
