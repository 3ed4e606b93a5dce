"""A lineage for a terminal: a dataset a line, its arrows drawn on the left like a tree with joins."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from penstock.errors.text import clean
from penstock.observe.drawing.layering import forward_edges
from penstock.observe.drawing.markup import shorten
from penstock.observe.lineage import Lineage, LineageNode, NodeKind
from penstock.observe.numbers import rate, short_count

_SHORT_KINDS = {
    NodeKind.STREAMING_TABLE: "stream table",
    NodeKind.MATERIALIZED_VIEW: "mat. view",
}
_KIND_WIDTH, _STATUS_WIDTH, _ROWS_WIDTH, _RATE_WIDTH = 12, 9, 6, 7
_LEAST_NAME = 12


_MARKS = {
    NodeKind.SOURCE: "○",
    NodeKind.STREAMING_TABLE: "●",
    NodeKind.MATERIALIZED_VIEW: "■",
    NodeKind.VIEW: "◇",
    NodeKind.SINK: "▷",
    NodeKind.DATASET: "□",
}


def to_terminal(lineage: Lineage, *, width: int = 80) -> str:
    """Returns the drawing, one line a node and a legend, ending with a newline; "" for an empty graph.

    Every line is at most `width` cells (at least 60 are used); status, rows and rate appear when any node has one.
    """
    if not lineage.nodes:
        return ""
    width = max(width, 60)
    numbers = any(node.status is not None or node.rows is not None for node in lineage.nodes)
    rows = _rails(lineage)
    taken = _KIND_WIDTH + 1 + ((_STATUS_WIDTH + _ROWS_WIDTH + _RATE_WIDTH + 3) if numbers else 0)
    widest = max(cell_len(rail) + 1 + cell_len(clean(node.label)) for rail, node in rows)
    room = min(widest, width - taken)
    lines = [_columns(" " * room, "", "status", "rows", "rows/s")] if numbers else []
    for whole_rail, node in rows:
        rail = shorten(whole_rail, room - 1 - _LEAST_NAME) if room < widest else whole_rail
        left = f"{rail} {shorten(clean(node.label), room - cell_len(rail) - 1)}"
        lines.append(_line(set_cell_size(left, room), node, numbers=numbers))
    used = [kind for kind in NodeKind if any(node.kind is kind for node in lineage.nodes)]
    lines += ["", "  ".join(f"{_MARKS[kind]} {kind.value}" for kind in used)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _line(left: str, node: LineageNode, *, numbers: bool) -> str:
    kind = _SHORT_KINDS.get(node.kind, node.kind_in_words)
    if node.kind is NodeKind.SINK and len(kind) > _KIND_WIDTH:
        kind = node.kind.value
    kind = set_cell_size(clean(kind), _KIND_WIDTH)
    if not numbers:
        return f"{left} {kind}"
    stored = node.kind not in {NodeKind.SOURCE, NodeKind.VIEW}
    figures = (short_count(node.rows), rate(node.rows_per_second)) if stored else ("", "")
    return _columns(left, kind, node.status.value if node.status else "", *figures)


def _columns(left: str, kind: str, status: str, rows: str, speed: str) -> str:
    figures = f"{rows:>{_ROWS_WIDTH}} {speed:>{_RATE_WIDTH}}"
    return f"{left} {kind:<{_KIND_WIDTH}} {status:<{_STATUS_WIDTH}} {figures}"


def _rails(lineage: Lineage) -> list[tuple[str, LineageNode]]:
    """Walks the nodes in reading order; lane i holds the node whose arrows still run down column i."""
    edges = forward_edges(lineage)
    upstream: dict[str, list[str]] = {node.name: [] for node in lineage.nodes}
    pending: dict[str, int] = {node.name: 0 for node in lineage.nodes}
    for source, target in edges:
        upstream[target].append(source)
        pending[source] += 1
    lanes: list[str | None] = []
    rows: list[tuple[str, LineageNode]] = []
    for node in _reading_order(lineage, edges):
        inputs = {lanes.index(name) for name in upstream[node.name]}
        own = next(
            (at for at in range(max(inputs, default=-1) + 1, len(lanes)) if lanes[at] is None),
            len(lanes),
        )
        for name in upstream[node.name]:
            pending[name] -= 1
        ended = {at for at in inputs if pending[str(lanes[at])] == 0}
        rail = _rail(lanes, inputs, ended, own) + _MARKS[node.kind]
        beyond = lanes[own + 1 :]
        rail += "".join(" │" if lane is not None else "  " for lane in beyond)
        rows.append((rail.rstrip(), node))
        for at in ended:
            lanes[at] = None
        if pending[node.name]:
            lanes[own : own + 1] = [node.name]
        while lanes and lanes[-1] is None:
            lanes.pop()
    return rows


def _rail(lanes: list[str | None], inputs: set[int], ended: set[int], own: int) -> str:
    """The columns left of the node: arrows that start here, pass by or pass over."""
    first = min(inputs, default=own)
    cells = []
    for at in range(own):
        lane = lanes[at] if at < len(lanes) else None
        if at < first:
            cells.append("│ " if lane is not None else "  ")
        elif at == first:
            cells.append("╰─" if at in ended else "├─")
        elif at in inputs:
            cells.append("┴─" if at in ended else "┼─")
        else:
            cells.append("│─" if lane is not None else "──")
    return "".join(cells)


def _reading_order(lineage: Lineage, edges: list[tuple[str, str]]) -> list[LineageNode]:
    """Depth first, so that a chain reads downwards; a node comes after all that feeds it."""
    after: dict[str, list[str]] = {node.name: [] for node in lineage.nodes}
    waiting: dict[str, int] = {node.name: 0 for node in lineage.nodes}
    for source, target in edges:
        after[source].append(target)
        waiting[target] += 1
    by_name = {node.name: node for node in lineage.nodes}
    stack = [node.name for node in reversed(lineage.nodes) if waiting[node.name] == 0]
    ordered = []
    while stack:
        name = stack.pop()
        ordered.append(by_name[name])
        for target in reversed(after[name]):
            waiting[target] -= 1
            if waiting[target] == 0:
                stack.append(target)
    return ordered
