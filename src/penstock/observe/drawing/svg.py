"""A lineage as SVG: a picture for a document, or the live graph of the dashboard."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from penstock.errors.text import clean, plural
from penstock.observe.drawing.layering import Bend, Layering, Place, arrange
from penstock.observe.drawing.markup import shorten, xml_address, xml_text
from penstock.observe.drawing.placement import vertical_centres
from penstock.observe.drawing.tone import Tone, tone
from penstock.observe.lineage import Lineage, LineageNode, NodeKind
from penstock.observe.numbers import count, rate, short_count

_CARD_WIDTH = 232
_SMALL_HEIGHT, _FULL_HEIGHT = 52, 78
_COLUMN_GAP, _ROW_GAP, _MARGIN = 42, 18, 10
_NAME_CELLS, _SUB_CELLS = 21, 18
_WELL = {Tone.ACTIVE.value, Tone.GOOD.value}
_NO_NUMBERS: dict[str, Any] = {
    "status": None,
    "rows": None,
    "dropped": None,
    "rows_per_second": None,
    "warned": False,
}
_WIDE = 7
"""From this many layers on, the page scrolls instead of shrinking the drawing."""

_ICONS = {
    NodeKind.SOURCE: "M2 8h8M7 4.5 10.5 8 7 11.5M13.5 2.5v11",
    NodeKind.STREAMING_TABLE: "M2 3h12v10H2zM2 6.5h12M6 6.5V13",
    NodeKind.MATERIALIZED_VIEW: "M8 1.8 14 5 8 8.2 2 5zM2 8l6 3.2L14 8M2 11l6 3.2 6-3.2",
    NodeKind.VIEW: "M1.5 8C3 5.3 5.3 4 8 4s5 1.3 6.5 4c-1.5 2.7-3.8 4-6.5 4S3 10.7 1.5 8zM8 6.2a1.8 1.8 0 1 0 .01 0",
    NodeKind.SINK: "M6 8h8M11 4.5 14.5 8 11 11.5M2.5 2.5v11",
    NodeKind.DATASET: "M2 3h12v10H2z",
}


@cache
def stylesheet() -> str:
    """Returns the CSS of the drawing, light and dark; a page that embeds the drawing serves it itself."""
    return (resources.files("penstock.observe.drawing") / "lineage.css").read_text(encoding="utf-8")


def to_svg(
    lineage: Lineage,
    *,
    link: Callable[[str], str | None] | None = None,
    embedded: bool = False,
    title: str = "Lineage",
) -> str:
    """Returns one `<svg>` element.

    Args:
        lineage: What to draw; an empty one gives an empty picture with its description.
        link: Maps a node's name to the address that its card leads to, None for no link.
        embedded: True leaves the style sheet out, for a page whose policy forbids inline style.
        title: The accessible name of the picture.

    Every name is data: escaped, on one line, shortened to its card with the whole name as tooltip.
    """
    heights = {node.name: _height(node) for node in lineage.nodes}
    layering, centres = _placed(lineage.with_numbers(dict.fromkeys(heights, _NO_NUMBERS)), tuple(heights.values()))
    top = min((centres[name] - height / 2 for name, height in heights.items()), default=0.0)
    centres = {place: centre - top + _MARGIN for place, centre in centres.items()}
    columns = {place: number for number, layer in enumerate(layering.layers) for place in layer}
    width = max(2 * _MARGIN + len(layering.layers) * (_CARD_WIDTH + _COLUMN_GAP) - _COLUMN_GAP, 2 * _MARGIN)
    height = max((centres[name] + tall / 2 for name, tall in heights.items()), default=0.0) + _MARGIN
    height = max(height, max(centres.values(), default=0.0) + _MARGIN)
    parts = [_opening(lineage, layering, width, height, title, linked=link is not None)]
    if not embedded:
        parts.append(f"<style>{stylesheet()}</style>")
    parts.append(
        '<defs><marker id="lineage-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="lineage-arrow" d="M0 .5 7.5 4 0 7.5z"/></marker></defs>'
    )
    parts.append('<g class="lineage-edges" aria-hidden="true">')
    tones, labels = {node.name: tone(node.status) for node in lineage.nodes}, lineage.short_labels()
    for (_, downstream), route in layering.routes.items():
        live = " lineage-live" if tones[downstream] is Tone.ACTIVE else ""
        parts.append(f'<path class="lineage-edge{live}" d="{_route(route, centres, columns)}"/>')
    parts.append("</g>")
    for number, node in enumerate(lineage.nodes):
        left = _left(columns[node.name])
        upper = centres[node.name] - heights[node.name] / 2
        address = link(node.name) if link is not None else None
        card = _card(node, labels[node.name], left=left, upper=upper, height=heights[node.name])
        parts.append(card if address is None else _linked(card, address, number, node))
    parts.append("</svg>")
    return "".join(parts) + "\n"


@lru_cache(maxsize=16)
def _placed(lineage: Lineage, heights: tuple[int, ...]) -> tuple[Layering, dict[Place, float]]:
    """Where everything is; cached, because numbers change with each batch and places hardly ever."""
    layering = arrange(lineage)
    by_name = {node.name: height for node, height in zip(lineage.nodes, heights, strict=True)}
    return layering, vertical_centres(layering, lambda upper, lower: _distance(upper, lower, by_name))


def _opening(lineage: Lineage, layering: Layering, width: float, height: float, title: str, *, linked: bool) -> str:
    sources = sum(node.kind is NodeKind.SOURCE for node in lineage.nodes)
    datasets = len(lineage.nodes) - sources
    description = (
        f"{plural(datasets, 'dataset')} and {plural(sources, 'external source')}, "
        f"with {plural(len(lineage.edges), 'arrow')} from left to right in the direction of the data."
    )
    wide = " lineage-wide" if len(layering.layers) >= _WIDE else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage{wide}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="{"group" if linked else "img"}" '
        f'aria-labelledby="lineage-title lineage-description">'
        f'<title id="lineage-title">{xml_text(title)}</title>'
        f'<desc id="lineage-description">{description}</desc>'
    )


def _card(node: LineageNode, name: str, *, left: float, upper: float, height: int) -> str:
    shown = tone(node.status).value
    if node.warned and shown in _WELL:
        shown = Tone.RETRYING.value
    label = shorten(clean(name), _NAME_CELLS)
    sub = node.kind_in_words
    right = _CARD_WIDTH - 14
    kind = node.kind.name.lower().replace("_", "-")
    place = f"translate({left:.1f} {upper:.1f})"
    parts = [
        f'<g class="lineage-node lineage-{shown} lineage-{kind}" transform="{place}">',
        f"<title>{xml_text(_spoken(node))}</title>",
        f'<rect class="lineage-card" width="{_CARD_WIDTH}" height="{height}" rx="10"/>',
        f'<path class="lineage-stripe" d="M.75 10v{height - 20}"/>',
        f'<path class="lineage-icon" transform="translate(14 10)" d="{_ICONS[node.kind]}"/>',
        f'<text class="lineage-name" x="40" y="23">{xml_text(label)}</text>',
        f'<text class="lineage-kind" x="40" y="40">{xml_text(shorten(clean(sub), _SUB_CELLS))}</text>',
    ]
    if node.status is not None:
        mark = "! " if node.warned else ""
        parts.append(f'<text class="lineage-status" x="{right}" y="40">{mark}{node.status.value.capitalize()}</text>')
    if height == _FULL_HEIGHT:
        parts.append(f'<path class="lineage-rule" d="M14 50.5H{right}"/>')
        parts.append(f'<text class="lineage-number" x="14" y="67">{_rows(node)}</text>')
        if node.dropped:
            parts.append(
                f'<text class="lineage-dropped" x="{right - 44}" y="67">{short_count(node.dropped)} dropped</text>'
            )
        if node.rows_per_second is not None:
            parts.append(f'<text class="lineage-rate" x="{right}" y="67">{rate(node.rows_per_second)}</text>')
    parts.append("</g>")
    return "".join(parts)


def _linked(card: str, address: str, number: int, node: LineageNode) -> str:
    """A card to click; its id lets a page keep the keyboard's focus while the drawing is renewed."""
    return (
        f'<a class="lineage-link" id="lineage-node-{number}" href="{xml_address(address)}" '
        f'aria-label="{xml_text(_spoken(node))}">{card}</a>'
    )


def _rows(node: LineageNode) -> str:
    if node.rows is None:
        return "no rows yet"
    long = node.rows >= 10_000_000 or (node.dropped and node.rows >= 10_000)
    return f"{short_count(node.rows) if long else count(node.rows)} {'row' if node.rows == 1 else 'rows'}"


def _spoken(node: LineageNode) -> str:
    said = [node.label, node.detail or "" if node.kind is NodeKind.SOURCE else "", node.kind.value]
    if node.status is not None:
        said.append(node.status.value.lower())
    if node.warned:
        said.append("with a warning")
    if node.rows is not None:
        said.append(f"{count(node.rows)} rows")
    if node.dropped:
        said.append(f"{count(node.dropped)} dropped")
    if node.rows_per_second is not None:
        said.append(f"{short_count(node.rows_per_second)} rows per second")
    return ", ".join(part for part in said if part)


def _height(node: LineageNode) -> int:
    return _SMALL_HEIGHT if node.rows is None and node.rows_per_second is None else _FULL_HEIGHT


def _distance(upper: Place, lower: Place, heights: dict[str, int]) -> float:
    def half(place: Place) -> float:
        return 4.0 if isinstance(place, Bend) else heights[place] / 2

    return half(upper) + half(lower) + _ROW_GAP


def _left(column: int) -> float:
    return _MARGIN + column * (_CARD_WIDTH + _COLUMN_GAP)


def _route(route: tuple[Place, ...], centres: dict[Place, float], columns: dict[Place, int]) -> str:
    """Curves between the layers, straight through those that the edge only passes."""
    x, y = _left(columns[route[0]]) + _CARD_WIDTH, centres[route[0]]
    path_data = [f"M{x:.1f} {y:.1f}"]
    for place in route[1:]:
        to_x, to_y = _left(columns[place]), centres[place]
        middle = (x + to_x) / 2
        path_data.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
        if isinstance(place, Bend):
            x += _CARD_WIDTH
            path_data.append(f"H{x:.1f}")
    return "".join(path_data)
