"""Work in the driver and in Python that Spark would do better."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from penstock.care.lint.datasets import decorator_name
from penstock.care.lint.finding import Check, Found
from penstock.care.lint.frames import Origin
from penstock.care.lint.rules.grouping import GROUPS, called, may_aggregate
from penstock.care.lint.script import Script

_TO_DRIVER: Final = {"collect", "toPandas", "toLocalIterator"}
_ON_STREAM: Final = {
    *_TO_DRIVER,
    "show",
    "count",
    "first",
    "head",
    "take",
    "tail",
    "foreachPartition",
    "write",
    "rdd",
    "cache",
}
_BUILTINS: Final = {
    "upper": "upper",
    "lower": "lower",
    "strip": "trim",
    "lstrip": "ltrim",
    "rstrip": "rtrim",
    "replace": "replace",
    "split": "split",
    "startswith": "startswith",
    "endswith": "endswith",
    "title": "initcap",
    "len": "length",
    "abs": "abs",
    "round": "round",
}


def _on_stream(script: Script) -> Iterator[Found]:
    for frame, step in script.frames.used:
        if frame.origin is not Origin.STREAM or frame.step("writeStream") is not None or not frame.whole:
            continue
        last = frame.steps[-1].name
        opened = (
            last == "read_stream" or frame.step("load", "table", "json", "csv", "parquet", "text", "orc") is not None
        )
        used = step.call is not None or step.name in {"write", "rdd"}
        if step.name in _ON_STREAM and used and opened and last not in {*GROUPS, "na", "stat"}:
            yield script.found(step.node, f"`{step.name}` of a stream")


def _to_driver(script: Script) -> Iterator[Found]:
    for frame, step in script.frames.used:
        few = any(each.name in {"limit", "count", "distinct"} or may_aggregate(each) for each in frame.steps)
        if frame.origin is Origin.MICRO_BATCH and step.name in _TO_DRIVER and step.call is not None and not few:
            yield script.found(step.node, f"`{step.name}` of a batch")


def _printed(script: Script) -> Iterator[Found]:
    for frame, step in script.frames.used:
        if frame.origin is Origin.MICRO_BATCH and step.name == "show" and step.call is not None:
            yield script.found(step.node, "`show` of a batch")


def _builtins(script: Script) -> Iterator[Found]:
    for node in script.nodes(ast.Call, ast.FunctionDef):
        match node:
            case ast.Call(args=[ast.Lambda(body=body), *_]) if called(node) == "udf":
                found = _builtin(body)
            case ast.FunctionDef(decorator_list=decorators, body=[ast.Return(value=ast.expr() as body)]) if any(
                decorator_name(each) == "udf" for each in decorators
            ):
                found = _builtin(body)
            case _:
                continue
        if found is not None:
            yield script.found(node, f"a Python function that does what `F.{found}` does")


def _builtin(body: ast.expr) -> str | None:
    """Returns the function of Spark that one call of Python's is; also behind `x.upper() if x else None`."""
    match body:
        case ast.IfExp(body=inner):
            return _builtin(inner)
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(), attr=name))
            | ast.Call(func=ast.Name(id=name), args=[ast.Name()])
        ):
            return _BUILTINS.get(name)
    return None


CHECKS: Final[dict[str, Check]] = {
    "action-on-stream": _on_stream,
    "rows-to-the-driver": _to_driver,
    "batch-printed": _printed,
    "python-udf-for-builtin": _builtins,
}
