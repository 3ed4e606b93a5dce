"""The flows of an update on a time axis, as SVG: one row a flow, one bar a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from penstock.errors.text import clean
from penstock.observe.drawing.markup import shorten, xml_address, xml_text
from penstock.observe.drawing.tone import tone
from penstock.observe.flows.updates import FlowInUpdate, Span
from penstock.observe.numbers import duration_ms

_WIDTH, _LABELS, _ROW, _BAR, _AXIS = 1340, 230, 28, 16, 26
_TICKS = 6
_NICE_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


def to_gantt(
    flows: Sequence[FlowInUpdate], *, begin: datetime, end: datetime, link: Callable[[FlowInUpdate], str]
) -> str:
    """Returns one `<svg>` element in the classes of the lineage's style sheet.

    Bars begin at `begin` and end at `end`, also those of states that go on. `link` gives the address of a flow's
    label. Every name is data: escaped and shortened, with the whole of it and its times as a tooltip.
    """
    height = _AXIS + len(flows) * _ROW + 6
    seconds = max((end - begin).total_seconds(), 0.001)
    scale = (_WIDTH - _LABELS - 10) / seconds

    def x(moment: datetime) -> float:
        return _LABELS + min(max((moment - begin).total_seconds(), 0.0), seconds) * scale

    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage gantt" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="group" aria-label="{len(flows)} flows of the update over time">'
    )
    parts = [opening]
    for at in _ticks(seconds):
        left = x(begin + timedelta(seconds=at))
        parts.append(f'<path class="lineage-rule" d="M{left:.1f} {_AXIS - 6}V{height}"/>')
        parts.append(f'<text class="lineage-kind" x="{left + 3:.1f}" y="{_AXIS - 10}">{duration_ms(at * 1000)}</text>')
    for number, flow in enumerate(flows):
        top = _AXIS + number * _ROW
        parts.append(
            f'<path class="lineage-rule" d="M0 {top - 0.5}H{_WIDTH}"/>'
            f'<a class="lineage-link" id="gantt-{number}" href="{xml_address(link(flow))}">'
            f'<text class="lineage-name" x="4" y="{top + 18}">{xml_text(shorten(clean(flow.flow), 30))}'
            f"<title>{xml_text(f'{flow.flow} into {flow.dataset}')}</title></text></a>"
        )
        parts += [_bar(span, top, x=x, end=end) for span in flow.spans]
    parts.append("</svg>")
    return "".join(parts) + "\n"


def _bar(span: Span, top: int, *, x: Callable[[datetime], float], end: datetime) -> str:
    left, last = x(span.start), span.end
    # what a flow ended with is a mark, not a time that it took
    width = 5.0 if span.status.terminal else max(x(last or end) - left, 2.0)
    took = "" if span.status.terminal else f", {duration_ms(((last or end) - span.start).total_seconds() * 1000)}"
    title = f"{span.status.value.capitalize()} from {span.start:%H:%M:%S} UTC{took}"
    return (
        f'<rect class="gantt-bar lineage-node lineage-{tone(span.status).value} gantt-{span.status.value.lower()}" '
        f'x="{left:.1f}" y="{top + (_ROW - _BAR) // 2}" width="{width:.1f}" height="{_BAR}" rx="3">'
        f"<title>{xml_text(title)}</title></rect>"
    )


def _ticks(seconds: float) -> list[float]:
    step = next((each for each in _NICE_SECONDS if seconds / each <= _TICKS), 86400 * max(seconds // 432000, 1))
    return [number * step for number in range(int(seconds / step) + 1)]
