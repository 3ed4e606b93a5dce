"""A flame graph as SVG: each box is a method, as wide as its share of the samples, above the one that called it.

After Brendan Gregg, "The Flame Graph" (CACM, 2016); turned over, so that what starts is on top.
"""

from __future__ import annotations

import colorsys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from benchmarks.profile.layers import layer_of
from benchmarks.profile.recording import Stack

_WIDTH, _LINE, _LETTER = 1200, 15, 6.6
_LEAST = 0.004  # a narrower box is five pixels, and cannot be read


@dataclass(slots=True)
class _Box:
    samples: int = 0
    layers: Counter[str] = field(default_factory=Counter)
    below: dict[str, _Box] = field(default_factory=dict)

    def add(self, methods: Stack, layer: str, count: int) -> None:
        self.samples += count
        self.layers[layer] += count
        if methods:
            self.below.setdefault(methods[0], _Box()).add(methods[1:], layer, count)


def draw(stacks: Counter[Stack], title: str) -> str:
    """Returns the SVG; a box has the colour of what most of its samples work for, and its whole name as a tooltip."""
    root = _Box()
    for stack, count in stacks.items():
        root.add(stack, layer_of(stack), count)
    boxes = list(_boxes(root, 0.0, 0, root.samples))
    deepest = max((depth for depth, *_ in boxes), default=0)
    legend = [layer for layer, count in root.layers.most_common() if count >= root.samples * 0.01]
    top = 2 * _LINE + _LINE * (len(legend) // 5 + 1)
    high = top + (deepest + 1) * _LINE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {high}" style="font: 11px monospace">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="4" y="{_LINE - 3}" font-size="13">{escape(title)}</text>',
    ]
    for number, layer in enumerate(legend):
        x, y = 4.0 + number % 5 * 240, 2 * _LINE + number // 5 * _LINE
        share = root.layers[layer] / root.samples
        lines.append(f'<rect x="{x}" y="{y - 10}" width="10" height="10" fill="{_colour(layer)}"/>')
        lines.append(f'<text x="{x + 14}" y="{y}">{escape(layer[:26])} {share:.0%}</text>')
    for depth, left, share, method, layer in boxes:
        x, y, wide = left * _WIDTH, top + depth * _LINE, share * _WIDTH
        lines.append(
            f'<g><title>{escape(method)} {share:.1%}</title><rect x="{x:.1f}" y="{y}" width="{wide:.1f}" '
            f'height="{_LINE - 1}" fill="{_colour(layer)}" rx="1"/>'
            f'<text x="{x + 2:.1f}" y="{y + 11}">{escape(_short(method, wide))}</text></g>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _boxes(box: _Box, left: float, depth: int, total: int) -> Iterator[tuple[int, float, float, str, str]]:
    """Yields depth, left side and width as shares, method and layer of each box that is wide enough."""
    for name, child in sorted(box.below.items(), key=lambda each: -each[1].samples):
        share = child.samples / total
        if share >= _LEAST:
            method, last = _last_of_chain(name, child)
            yield depth, left, share, method, child.layers.most_common(1)[0][0]
            yield from _boxes(last, left, depth + 1, total)
        left += share


def _last_of_chain(method: str, box: _Box) -> tuple[str, _Box]:
    """Returns the last method of a chain of single callers, which is drawn as one box: it says what that is about."""
    while len(box.below) == 1 and next(iter(box.below.values())).samples == box.samples:
        [(method, box)] = box.below.items()
    return method, box


def _short(method: str, wide: float) -> str:
    name = ".".join(method.split(".")[-2:])  # class and method
    letters = int((wide - 4) / _LETTER)
    return "" if letters < 4 else name if len(name) <= letters else name[: letters - 1] + "…"


def _colour(layer: str) -> str:
    hue = zlib.crc32(layer.encode()) % 360 / 360
    red, green, blue = colorsys.hls_to_rgb(hue, 0.78, 0.65)
    return f"#{int(red * 255):02x}{int(green * 255):02x}{int(blue * 255):02x}"
