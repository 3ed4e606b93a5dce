"""A lineage as a Mermaid flowchart, to paste into a README or a wiki page."""

from __future__ import annotations

from penstock.errors.text import clean
from penstock.observe.drawing.tone import Tone, tone
from penstock.observe.lineage import Lineage, LineageNode, NodeKind
from penstock.observe.numbers import count, rate

_SHAPES = {
    NodeKind.SOURCE: ('(["', '"])'),
    NodeKind.STREAMING_TABLE: ('[("', '")]'),
    NodeKind.MATERIALIZED_VIEW: ('[["', '"]]'),
    NodeKind.VIEW: ('("', '")'),
    NodeKind.SINK: ('[/"', '"/]'),
    NodeKind.DATASET: ('["', '"]'),
}
_COLOURS = {
    Tone.WAITING: "fill:#eef2f6,stroke:#64748b,color:#1e293b",
    Tone.ACTIVE: "fill:#e0f0ff,stroke:#1d6fd1,color:#0b2e59",
    Tone.GOOD: "fill:#e2f5e9,stroke:#1b7f4b,color:#0c3a22",
    Tone.SKIPPED: "fill:#fdf3d8,stroke:#9a6700,color:#4a3200",
    Tone.RETRYING: "fill:#fdf3d8,stroke:#9a6700,color:#4a3200",
    Tone.BAD: "fill:#fde6e6,stroke:#c62828,color:#5c1010",
    Tone.STOPPED: "fill:#f1f1f1,stroke:#767676,color:#333333",
}


def to_mermaid(lineage: Lineage) -> str:
    """Returns the text of a left-to-right flowchart, ending with a newline.

    Names are data: every character that Mermaid could read as syntax or HTML is written as an
    entity. Numbers appear only where they are known.
    """
    identifiers = {node.name: f"n{number}" for number, node in enumerate(lineage.nodes)}
    lines = ["flowchart LR"]
    for node in lineage.nodes:
        opening, closing = _SHAPES[node.kind]
        shown = tone(node.status)
        suffix = "" if shown is Tone.PLAIN else f":::{shown.value}"
        lines.append(f"    {identifiers[node.name]}{opening}{_label(node)}{closing}{suffix}")
    lines.extend(f"    {identifiers[edge.upstream]} --> {identifiers[edge.downstream]}" for edge in lineage.edges)
    used = {tone(node.status) for node in lineage.nodes}
    lines.extend(f"    classDef {each.value} {style}" for each, style in _COLOURS.items() if each in used)
    return "\n".join(lines) + "\n"


def _label(node: LineageNode) -> str:
    parts = [_escape(node.label)]
    parts.append(_escape(node.kind_in_words))
    numbers = []
    if node.status is not None:
        numbers.append(node.status.value)
    if node.rows is not None:
        numbers.append(f"{count(node.rows)} rows")
    if node.rows_per_second is not None:
        numbers.append(rate(node.rows_per_second))
    if node.dropped:
        numbers.append(f"{count(node.dropped)} dropped")
    if numbers:
        parts.append(_escape(", ".join(numbers)))
    return "<br>".join(parts)


def _escape(text: str) -> str:
    return "".join(each if each.isalnum() or each in " _-.,/:" else f"#{ord(each)};" for each in clean(text))
