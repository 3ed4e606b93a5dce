"""Drawings of a lineage: for a terminal, as Mermaid text and as SVG."""

from penstock.observe.drawing.mermaid import to_mermaid
from penstock.observe.drawing.svg import to_svg
from penstock.observe.drawing.terminal import to_terminal

__all__ = ["to_mermaid", "to_svg", "to_terminal"]
