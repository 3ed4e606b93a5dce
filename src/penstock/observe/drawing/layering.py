"""Layers of a lineage: every node after all that feeds it, long edges cut into one step a layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

from penstock.observe.lineage import Lineage, NodeKind

_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Bend:
    """A place where an edge that skips layers passes through a layer."""

    upstream: str
    downstream: str
    layer: int


Place = str | Bend


@dataclass(frozen=True, slots=True)
class Layering:
    """`layers[i]` lists what is in layer i from top to bottom; `after` are the one-layer steps."""

    layers: tuple[tuple[Place, ...], ...]
    after: Mapping[Place, tuple[Place, ...]]
    before: Mapping[Place, tuple[Place, ...]]
    routes: Mapping[tuple[str, str], tuple[Place, ...]]
    """For each edge the places that it passes, its two ends included, by increasing layer."""


def forward_edges(lineage: Lineage) -> list[tuple[str, str]]:
    """Returns the edges without those that close a cycle; only a damaged log holds such edges."""
    after: dict[str, list[str]] = defaultdict(list)
    for edge in lineage.edges:
        after[edge.upstream].append(edge.downstream)
    done: set[str] = set()
    forward: list[tuple[str, str]] = []
    for root in (node.name for node in lineage.nodes):
        if root in done:
            continue
        path = {root}
        stack = [(root, iter(after[root]))]
        while stack:
            name, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                stack.pop()
                path.discard(name)
                done.add(name)
            elif target not in path:
                forward.append((name, target))
                if target not in done:
                    path.add(target)
                    stack.append((target, iter(after[target])))
    return forward


def arrange(lineage: Lineage) -> Layering:
    """Returns layers ordered so that few edges cross (barycentre sweeps, then neighbour swaps)."""
    edges = forward_edges(lineage)
    level = _levels(lineage, edges)
    layers: list[list[Place]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for node in lineage.nodes:
        layers[level[node.name]].append(node.name)
    after: dict[Place, list[Place]] = defaultdict(list)
    before: dict[Place, list[Place]] = defaultdict(list)
    routes: dict[tuple[str, str], tuple[Place, ...]] = {}
    for upstream, downstream in edges:
        route: list[Place] = [upstream]
        for number in range(level[upstream] + 1, level[downstream]):
            bend = Bend(upstream, downstream, number)
            layers[number].append(bend)
            route.append(bend)
        route.append(downstream)
        routes[upstream, downstream] = tuple(route)
        for left, right in pairwise(route):
            after[left].append(right)
            before[right].append(left)
    best = _order(layers, after, before)
    return Layering(
        tuple(tuple(layer) for layer in best),
        {place: tuple(after[place]) for layer in best for place in layer},
        {place: tuple(before[place]) for layer in best for place in layer},
        routes,
    )


def crossings(layers: Sequence[Sequence[Place]], after: Mapping[Place, Sequence[Place]]) -> int:
    """Returns how many pairs of one-layer steps cross each other."""
    total = 0
    for left, right in pairwise(layers):
        position = {place: index for index, place in enumerate(right)}
        seen: list[int] = []
        for place in left:
            targets = sorted(position[target] for target in after.get(place, ()))
            total += sum(1 for target in targets for earlier in seen if earlier > target)
            seen.extend(targets)
    return total


def _levels(lineage: Lineage, edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Longest path from the left; a source that nothing feeds is right before its first reader."""
    feeding: dict[str, list[str]] = {node.name: [] for node in lineage.nodes}
    after: dict[str, list[str]] = defaultdict(list)
    for upstream, downstream in edges:
        feeding[downstream].append(upstream)
        after[upstream].append(downstream)
    level: dict[str, int] = {}
    for name in TopologicalSorter(feeding).static_order():
        level[name] = 1 + max((level[upstream] for upstream in feeding[name]), default=-1)
    for node in lineage.nodes:
        if node.kind is NodeKind.SOURCE and after[node.name]:
            level[node.name] = min(level[target] for target in after[node.name]) - 1
    return level


def _order(
    layers: list[list[Place]],
    after: Mapping[Place, Sequence[Place]],
    before: Mapping[Place, Sequence[Place]],
) -> list[list[Place]]:
    best, fewest = [list(layer) for layer in layers], crossings(layers, after)
    current = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        indexes = range(1, len(current)) if forward else range(len(current) - 2, -1, -1)
        for index in indexes:
            fixed = current[index - 1 if forward else index + 1]
            _sort_by_neighbours(current[index], fixed, before if forward else after)
        _swap_neighbours(current, after, before)
        count = crossings(current, after)
        if count < fewest:
            best, fewest = [list(layer) for layer in current], count
    return best


def _sort_by_neighbours(
    layer: list[Place], fixed: Sequence[Place], neighbours: Mapping[Place, Sequence[Place]]
) -> None:
    position = {place: float(index) for index, place in enumerate(fixed)}
    own = {place: float(index) for index, place in enumerate(layer)}

    def centre(place: Place) -> float:
        found = [position[other] for other in neighbours.get(place, ()) if other in position]
        return sum(found) / len(found) if found else own[place]

    layer.sort(key=centre)


def _swap_neighbours(
    layers: list[list[Place]],
    after: Mapping[Place, Sequence[Place]],
    before: Mapping[Place, Sequence[Place]],
) -> None:
    for index, layer in enumerate(layers):
        sides = []
        if index > 0:
            sides.append(({place: at for at, place in enumerate(layers[index - 1])}, before))
        if index + 1 < len(layers):
            sides.append(({place: at for at, place in enumerate(layers[index + 1])}, after))
        for at in range(len(layer) - 1):
            upper, lower = layer[at], layer[at + 1]
            gain = 0
            for position, neighbours in sides:
                above = [position[other] for other in neighbours.get(upper, ())]
                below = [position[other] for other in neighbours.get(lower, ())]
                gain += sum((a > b) - (a < b) for a in above for b in below)
            if gain > 0:
                layer[at], layer[at + 1] = lower, upper
