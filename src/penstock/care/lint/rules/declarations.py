"""Pipeline files of `dlt`, `pyspark.pipelines` and `penstock`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from penstock.care.lint.datasets import decorator_name
from penstock.care.lint.finding import Check, Found
from penstock.care.lint.rules.grouping import called
from penstock.care.lint.script import Script
from penstock.care.lint.tree import walk

_EFFECTS: Final = {"collect", "toPandas", "show", "saveAsTable", "insertInto", "save", "start", "toTable"}
_STATEMENT: Final = re.compile(
    r"\s*(?:INSERT|DELETE|UPDATE|MERGE|DROP|TRUNCATE|ALTER|CREATE\s+(?!.*\bTEMP))", re.IGNORECASE
)
_READS: Final = {"read", "read_stream", "readStream", "table"}
_ALWAYS: Final = (
    re.compile(r"\s*\(?\s*true\s*\)?\s*", re.IGNORECASE),
    re.compile(r"\s*(\d+|'[^']*')\s*=\s*\1\s*"),
    re.compile(r"\s*(\w+)\s+is\s+(not\s+)?null\s+or\s+\1\s+is\s+(?!\2)(not\s+)?null\s*", re.IGNORECASE),
)


def _effects(script: Script) -> Iterator[Found]:
    for function in script.datasets:
        for node in walk(function):
            if not isinstance(node, ast.Call):
                continue
            name = called(node)
            text = script.constants.of(node.args[0]) if name == "sql" and node.args else None
            if isinstance(text, str) and _STATEMENT.match(text):
                yield script.found(node, f"`{function.name}` runs `{text.split()[0].upper()}`")
            elif name in _EFFECTS and isinstance(node.func, ast.Attribute):
                yield script.found(node, f"`{function.name}` calls `{name}`")


def _itself(script: Script) -> Iterator[Found]:
    for function in script.datasets:
        own = _names(function, script)
        for node in walk(function):
            if isinstance(node, ast.Call) and called(node) in _READS and node.args:
                name = script.constants.of(node.args[0])
                if isinstance(name, str) and name.casefold().removeprefix("live.") in own:
                    yield script.found(node, f"`{function.name}` reads `{name}`")


def _names(function: ast.FunctionDef, script: Script) -> set[str]:
    """The dataset's name; of a flow, which may read any table, none."""
    found = set[str]()
    for decorator in function.decorator_list:
        if decorator_name(decorator) == "append_flow":
            return set()
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        given = next((script.constants.of(each.value) for each in keywords if each.arg == "name"), None)
        if isinstance(given, str):
            found.add(given.casefold())
    return found or {function.name.casefold()}


def _streams(script: Script) -> Iterator[Found]:
    for function in script.datasets:
        if not any(decorator_name(each) == "materialized_view" for each in function.decorator_list):
            continue
        for node in walk(function):
            reader = isinstance(node, ast.Attribute) and node.attr == "readStream"
            if isinstance(node, ast.expr) and (reader or called(node) == "read_stream"):
                yield script.found(node, f"the query of `{function.name}` reads a stream")
                break


def _late(script: Script) -> Iterator[Found]:
    for function in script.datasets:
        for outer, inner in script.around(function):
            if isinstance(outer, ast.FunctionDef):
                break
            if not isinstance(outer, ast.For) or inner not in outer.body:
                continue
            targets = {node.id for node in walk(outer.target) if isinstance(node, ast.Name)}
            given = {each.arg for each in [*function.args.args, *function.args.kwonlyargs]}
            used = {node.id for each in function.body for node in walk(each) if isinstance(node, ast.Name)}
            for name in sorted(targets & used - given):
                yield script.found(function, f"`{function.name}` uses the loop variable `{name}`")


def is_always_true(condition: str) -> bool:
    """Returns whether a condition in SQL is one of those that every row fulfils."""
    return any(pattern.fullmatch(condition) for pattern in _ALWAYS)


def _always(script: Script) -> Iterator[Found]:
    for call in script.calls(*_EXPECTATIONS):
        conditions = call.args[1:2] + [each.value for each in call.keywords if each.arg in {"inv", "condition"}]
        for argument in [*call.args[:1], *(each.value for each in call.keywords)]:
            named = script.constants.named(argument)
            conditions += named.values if isinstance(named, ast.Dict) else []
        for node in conditions:
            text = script.constants.of(node)
            if isinstance(text, str) and is_always_true(text):
                yield script.found(node, f"`{text}` is true for every row")


_EXPECTATIONS: Final = tuple(
    f"expect{every}{action}" for every in ("", "_all") for action in ("", "_or_drop", "_or_fail", "_or_quarantine")
)


CHECKS: Final[dict[str, Check]] = {
    "dataset-side-effect": _effects,
    "dataset-reads-itself": _itself,
    "stream-in-materialized-view": _streams,
    "loop-variable": _late,
    "expectation-always-true": _always,
}
