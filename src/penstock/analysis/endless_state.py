"""The operators of a flow whose state only grows, each with the line that made it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.errors import SourceLocation
from penstock.graph.resolved import EndlessState
from penstock.spark.plans.unbounded_state import OperatorRetention


def endless_state(
    operators: Sequence[OperatorRetention], calls: Iterable[tuple[str, SourceLocation]]
) -> tuple[EndlessState, ...]:
    """Returns those of `operators` (outermost first) that keep their state for ever.

    `calls` are the user's, in their order, which is that of the operators from the inside out. SQL makes operators
    without a call, and a DataFrame that is used twice several with one: then a line is set only if it is the only one.
    """
    places: dict[str, list[SourceLocation]] = {}
    for name, place in calls:
        places.setdefault(name, []).append(place)
    found = []
    for name in dict.fromkeys(operator.name for operator in operators):
        same = [operator for operator in operators if operator.name == name]
        made = places.get(name, [])
        lines: list[SourceLocation | None] = [*reversed(made)]
        if len(made) != len(same):
            lines = [made[0] if len(set(made)) == 1 else None] * len(same)
        found += [EndlessState(name, line) for each, line in zip(same, lines, strict=True) if each.for_ever]
    return tuple(found)
