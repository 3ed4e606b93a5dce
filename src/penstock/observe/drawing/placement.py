"""Coordinates for the places of a layering: straight where possible, never overlapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from penstock.observe.drawing.layering import Bend, Layering, Place

_SWEEPS = 8


def vertical_centres(layering: Layering, distance: Callable[[Place, Place], float]) -> dict[Place, float]:
    """Returns the vertical centre of each place; the topmost is 0.

    Each layer keeps its order and the `distance` between neighbours, and moves, as a whole block
    or in parts, as near to the neighbours in the adjacent layers as that allows.
    """
    centres: dict[Place, float] = {}
    for layer in layering.layers:
        at = 0.0
        for index, place in enumerate(layer):
            if index:
                at += distance(layer[index - 1], place)
            centres[place] = at
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        layers = layering.layers if forward else layering.layers[::-1]
        for layer in layers:
            neighbours = (layering.before, layering.after) if forward else (layering.after, layering.before)
            wishes = [_wish(place, centres, neighbours) for place in layer]
            weights = [4.0 if isinstance(place, Bend) else 1.0 for place in layer]
            gaps = [distance(upper, lower) for upper, lower in pairwise(layer)]
            centres.update(zip(layer, _nearest(wishes, weights, gaps), strict=True))
    top = min(centres.values(), default=0.0)
    return {place: centre - top for place, centre in centres.items()}


def _wish(
    place: Place,
    centres: Mapping[Place, float],
    neighbours: tuple[Mapping[Place, Sequence[Place]], Mapping[Place, Sequence[Place]]],
) -> float:
    """The mean of the neighbours on the settled side, else of the other side, else where it is."""
    for side in neighbours:
        found = [centres[other] for other in side.get(place, ())]
        if found:
            return sum(found) / len(found)
    return centres[place]


def _nearest(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Least squares under `y[i + 1] - y[i] >= gaps[i]`: pool adjacent violators on shifted wishes."""
    shifts = [0.0]
    for gap in gaps:
        shifts.append(shifts[-1] + gap)
    blocks: list[tuple[float, float, int]] = []
    for wish, weight, shift in zip(wishes, weights, shifts, strict=False):
        mean, total, count = wish - shift, weight, 1
        while blocks and blocks[-1][0] > mean:
            other_mean, other_total, other_count = blocks.pop()
            mean = (mean * total + other_mean * other_total) / (total + other_total)
            total += other_total
            count += other_count
        blocks.append((mean, total, count))
    settled = [mean for mean, _, count in blocks for _ in range(count)]
    return [value + shift for value, shift in zip(settled, shifts, strict=False)]
