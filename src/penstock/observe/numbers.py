"""How numbers read in a drawing, a table and a page: short, with a unit, and never wider than promised."""

from __future__ import annotations

UNKNOWN = "–"  # noqa: RUF001 - an en dash is what a table shows for "nothing to say"


def count(value: int | None) -> str:
    """Returns `1,234,567`, or a dash for None."""
    return UNKNOWN if value is None else f"{value:,}"


def short_count(value: float | None) -> str:
    """Returns at most five characters: `987`, `12.3k`, `4.56M`; a dash for None."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    if size < 1000:
        return f"{value:.0f}" if size >= 10 or value == int(value) else f"{value:.1f}"
    for limit, divisor, unit in ((1e6, 1e3, "k"), (1e9, 1e6, "M"), (1e12, 1e9, "B")):
        if size < limit:
            scaled = value / divisor
            return f"{scaled:.0f}{unit}" if abs(scaled) >= 100 else f"{scaled:.1f}{unit}"
    return f"{value / 1e12:.1f}T"


def byte_size(value: int | None) -> str:
    """Returns `987 B`, `12.3 kB`, `4.5 MB`, in powers of 1000; a dash for None."""
    if value is None:
        return UNKNOWN
    size = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def rate(value: float | None) -> str:
    """Returns rows per second as `410/s`, or a dash for None."""
    return UNKNOWN if value is None else f"{short_count(value)}/s"


def duration_ms(value: float | None) -> str:
    """Returns a duration given in milliseconds as `85 ms`, `2.4 s`, `3 min 20 s`, `2 h 5 min`."""
    if value is None:
        return UNKNOWN
    if value < 1000:
        return f"{value:.0f} ms"
    seconds = value / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def percent(part: int, whole: int) -> str:
    """Returns `99.8 %`; never `100 %` nor `0 %` unless it is exactly that; a dash when whole is 0."""
    if whole <= 0:
        return UNKNOWN
    if part >= whole:
        return "100 %"
    if part <= 0:
        return "0 %"
    value = 100 * part / whole
    return f"{min(max(value, 0.1), 99.9):.1f} %"
