"""Groups, windows and watermarks of streams, as the rules about state ask for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.care.lint.frames import Frame, Step
from penstock.care.lint.queries import Query
from penstock.care.lint.script import Script

GROUPS: Final = {"groupBy", "groupby", "rollup", "cube", "groupingSets"}
OWN_STATE: Final = {
    "applyInPandasWithState",
    "transformWithState",
    "transformWithStateInPandas",
    "flatMapGroupsWithState",
    "mapGroupsWithState",
}
_WINDOWS: Final = {"window", "session_window"}
_OF_A_ROW: Final = {"col", "column", "lit", "alias", "cast", "from_json", "to_json", "to_timestamp", "window"}


@dataclass(frozen=True, slots=True)
class Grouping:
    """A `groupBy` of a stream.

    Attributes:
        frame: what is grouped.
        step: the call.
        query: the query that writes the result; None when it is not known.
    """

    frame: Frame
    step: Step
    query: Query | None


def groupings(script: Script) -> Iterator[Grouping]:
    """Yields the groups of streams that are aggregated, each once; not those that a function of the user's takes."""
    queries = {id(step.node): query for query in script.queries for step in query.frame.steps}
    own = {
        id(group.node)
        for frame, step in script.frames.used
        if step.name in OWN_STATE and (group := frame.step(*GROUPS)) is not None
    }
    for frame, step in script.frames.used:
        if step.name in GROUPS and step.call is not None and frame.streaming and id(step.node) not in own:
            yield Grouping(frame, step, queries.get(id(step.node)))


def watermarks(frame: Frame) -> list[Step]:
    """Returns the watermarks of a frame and of what it was joined with."""
    return [step for step in frame.all_steps if step.name == "withWatermark"]


def windows(step: Step) -> list[ast.Call]:
    """Returns the calls of `window` and `session_window` among the arguments of a call."""
    return [node for node in step.calls if called(node) in _WINDOWS]


def called(node: ast.expr) -> str | None:
    """Returns the name of the function or method that is called."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
    return None


def column(node: ast.expr | None, script: Script) -> str | None:
    """Returns the name of a column that is written as `"c"`, `col("c")`, `orders.c` or `orders["c"]`; else None."""
    match node:
        case ast.Call(args=[name]) if called(node) in {"col", "column"}:
            return column(name, script)
        case ast.Attribute(value=ast.Name(), attr=name):
            return name
        case ast.Subscript(value=ast.Name(), slice=name):
            return column(name, script)
    value = script.constants.of(node)
    return value.rpartition(".")[2].strip("`") if isinstance(value, str) else None


def columns(step: Step, script: Script) -> list[str] | None:
    """Returns the columns that a call names; None when one of them is not known."""
    nodes: list[ast.expr] = []
    for argument in step.arguments:
        named = script.constants.named(argument)
        nodes += named.elts if isinstance(named, ast.List | ast.Tuple) else [argument]
    found = [column(node, script) for node in nodes]
    return None if None in found else [str(each) for each in found]


def may_aggregate(step: Step) -> bool:
    """Whether it makes one row of many, or may: `select(count("*"))` does."""
    if step.name in {"agg", *OWN_STATE}:
        return True
    return step.name == "selectExpr" or (
        step.name == "select" and any(called(each) not in _OF_A_ROW for each in step.calls)
    )
