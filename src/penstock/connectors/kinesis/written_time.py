"""A time as `initialPosition` gives it: with a pattern of Java's, and a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

_LETTERS: Final = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%f",
    "SSSSSS": "%f",
}
_PART: Final = re.compile(r"([a-zA-Z])\1*|'[^']*'|%")
_ZONE_LETTERS: Final = re.compile(r"\s*(Z+|X+|x+|z+|VV)$")
_OFFSET: Final = re.compile(r"([+-])(\d{2}):?(\d{2})")
# Those of RFC 822; other abbreviations mean one thing here and another there.
_HOURS: Final = (
    {"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4}
    | {"CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
)  # fmt: skip
_ZONED: Final = re.compile(r"(.*?)\s*([A-Za-z][A-Za-z_/]*|[+-]\d{2}:?\d{2})", re.DOTALL)


def read_time(text: str, pattern: str) -> datetime | None:
    """Returns the time that `text` gives in `pattern`; None when it does not fit, or has no zone."""
    zone_letters = _ZONE_LETTERS.search(pattern)
    found = _ZONED.fullmatch(text.strip())
    if zone_letters is None or found is None:
        return None
    zone = _zone(found[2])
    try:
        form = _PART.sub(_directive, pattern[: zone_letters.start()])
        return None if zone is None else datetime.strptime(found[1], form).replace(tzinfo=zone)
    except (KeyError, ValueError):
        return None


def _directive(part: re.Match[str]) -> str:
    if part[0].startswith("'"):
        return part[0][1:-1].replace("%", "%%") or "'"
    return "%%" if part[0] == "%" else _LETTERS[part[0]]


def _zone(text: str) -> tzinfo | None:
    if offset := _OFFSET.fullmatch(text):
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-span if offset[1] == "-" else span)
    hours = _HOURS.get(text.upper())
    if hours is not None:
        return timezone(timedelta(hours=hours)) if hours else UTC
    try:
        return ZoneInfo(text)
    except (OSError, ValueError, KeyError):
        return None
