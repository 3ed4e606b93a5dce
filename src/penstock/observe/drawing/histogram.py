"""How late rows came, as columns in SVG, with a line where the watermark's delay ends."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.observe.drawing.markup import xml_text
from penstock.observe.lateness import LatenessBar
from penstock.observe.numbers import count, short_count

_STEP, _BAR, _HEIGHT, _MARGIN, _TOP, _AXIS = 54, 42, 200, 22, 44, 24
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def to_histogram(bars: Sequence[LatenessBar], *, delay_ms: int) -> str:
    """Returns one `<svg>` element in the classes of the lineage's style sheet; `bars` are at least one.

    A column is as high as its rows are many, none of any rows lower than two pixels; a screen reader gets all of
    them in words.
    """
    most = max([*(bar.rows for bar in bars), 1])
    width, floor = 2 * _MARGIN + len(bars) * _STEP, _TOP + _HEIGHT
    mark = f"delay of {short_delay(delay_ms)}"
    description = "; ".join(f"{bar_words(bar)}: {count(bar.rows)}" for bar in bars)
    title = f"Late rows by how late they came. {description}. "
    title += f"The watermark has a {mark}; rows later than that are lost."
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage histogram" width="{width}" height="{floor + _AXIS}" '
        f'viewBox="0 0 {width} {floor + _AXIS}" role="img" aria-label="{xml_text(title)}">'
    )
    parts = [opening]
    for place, bar in enumerate(bars):
        left = _MARGIN + place * _STEP
        parts.append(_column(bar, left, floor, most))
        parts.append(f'<text class="lineage-kind" x="{left}" y="{floor + 17}">{short_delay(bar.begin_ms)}</text>')
        if bar.begin_ms == delay_ms:
            parts.append(_mark(left, floor, width, mark))
    parts.append(f'<path class="lineage-rule" d="M{_MARGIN} {floor + 0.5}H{width - _MARGIN}"/></svg>')
    return "".join(parts) + "\n"


def bar_words(bar: LatenessBar) -> str:
    """Returns `30 s to 1 min late`."""
    begin = short_delay(bar.begin_ms)
    return f"{begin} late or later" if bar.end_ms is None else f"{begin} to {short_delay(bar.end_ms)} late"


def short_delay(milliseconds: int) -> str:
    """Returns `0`, `500 ms`, `30 s`, `10 min`, `3 h`, `7 d`: the largest unit that divides it."""
    if not milliseconds:
        return "0"
    size, unit = next(((size, unit) for size, unit in _UNITS if milliseconds % size == 0), (1, "ms"))
    return f"{milliseconds // size} {unit}"


def _column(bar: LatenessBar, left: int, floor: int, most: int) -> str:
    height = max(_HEIGHT * bar.rows / most, 2.0) if bar.rows else 0.0
    middle, top = left + _BAR / 2 + 3, floor - height
    tone = "skipped" if bar.lost else "active"
    rectangle = (
        f'<rect class="gantt-bar lineage-node lineage-{tone}" x="{left + 3}" y="{top:.1f}" width="{_BAR}" '
        f'height="{height:.1f}" rx="2"><title>{count(bar.rows)} rows {bar_words(bar)}</title></rect>'
        if bar.rows
        else ""
    )
    return f'{rectangle}<text class="histogram-rows" x="{middle}" y="{top - 5:.1f}">{short_count(bar.rows)}</text>'


def _mark(left: int, floor: int, width: int, words: str) -> str:
    """The line, with its words on the side that has room."""
    right = left < width / 2
    place = f'x="{left + 6}"' if right else f'x="{left - 6}" text-anchor="end"'
    return (
        f'<path class="histogram-delay" d="M{left - 0.5} 6V{floor}"/>'
        f'<text class="lineage-name" {place} y="17">{words}</text>'
    )
