"""Where rows go, and whether they are there once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from penstock.care.lint.finding import Check, Found
from penstock.care.lint.frames import Frame, Origin, Step
from penstock.care.lint.queries import FILE_FORMATS, option_of
from penstock.care.lint.rules.grouping import columns
from penstock.care.lint.script import Script
from penstock.care.lint.tree import walk

_SAVES: Final = {"save", "saveAsTable", "insertInto", "jdbc", *FILE_FORMATS}
_ACTIONS: Final = {
    *_SAVES,
    "count",
    "collect",
    "toPandas",
    "show",
    "foreach",
    "foreachPartition",
    "isEmpty",
    "first",
    "take",
}
_BY_KEY: Final = {"org.apache.spark.sql.cassandra", "hudi", "org.apache.hudi"}
_KEEPS: Final = {"persist", "cache", "localCheckpoint", "checkpoint"}
_MANY: Final = re.compile(r"(?:^|_)(?:id|uuid|guid|email|timestamp|ts|time|start|end|offset)$|_?[a-z]Id$|_at$|^id$")


def _debugging(script: Script) -> Iterator[Found]:
    for query in script.queries:
        if query.sink in {"console", "memory"}:
            yield script.found(query.start.node, f"a query writes to {query.sink}")
        step = query.step("foreach")
        if step is not None and any(map(_prints, step.arguments)):
            yield script.found(step.node, "a query prints its rows")


def _prints(function: ast.expr) -> bool:
    match function:
        case ast.Name(id="print") | ast.Lambda(body=ast.Call(func=ast.Name(id="print"))):
            return True
    return False


def _files(script: Script) -> Iterator[Found]:
    for query in script.queries:
        if query.sink in FILE_FORMATS:
            yield script.found(query.start.node, f"a query writes files of {query.sink}")


def _appends_again(script: Script) -> Iterator[Found]:
    for function in script.frames.batch_functions:
        parameters = [each.arg for each in function.args.args if each.arg != "self"]
        used = {node.id for node in walk(function) if isinstance(node, ast.Name)}
        if len(parameters) != 2 or parameters[1] in used:
            continue
        for frame, step in _of_batch(script, function):
            if step.name not in _SAVES or frame.step("write") is None:
                continue
            if _replaces_by_key(frame, script):
                continue
            mode = frame.step("mode")
            given = step.keyword("mode") if mode is None else mode.argument(0, "saveMode")
            if script.constants.of(given) == "append" or (step.name == "insertInto" and given is None):
                yield script.found(step.node, f"`{function.name}` appends, and does not use `{parameters[1]}`")


def _replaces_by_key(frame: Frame, script: Script) -> bool:
    """Whether a store takes a row of the same key in the place of the one there, although it appends."""
    chosen = frame.step("format")
    name = None if chosen is None else script.constants.of(chosen.argument(0, "source"))
    return name in _BY_KEY or option_of(frame.steps, "es.mapping.id", script.constants) is not None


def _reads_twice(script: Script) -> Iterator[Found]:
    for function in script.frames.batch_functions:
        uses = _of_batch(script, function)
        if any(step.name in _KEEPS for _, step in uses):
            continue
        actions = [
            step
            for frame, step in uses
            if step.name in _ACTIONS
            and step.call is not None
            and (frame.step("write") is not None or step.name not in _SAVES)
        ]
        together = [step for step in actions if not any(script.exclusive(step.node, other.node) for other in actions)]
        if len(together) > 1:
            names = " and ".join(f"`{step.name}`" for step in together[:2])
            yield script.found(together[1].node, f"{names} in `{function.name}` each compute the batch")


def has_many_values(column: str) -> bool:
    """Returns whether a column is one of many values, by its name."""
    return _MANY.search(column) is not None


def _partitions(script: Script) -> Iterator[Found]:
    for query in script.queries:
        step = query.step("partitionBy")
        many = [name for name in (columns(step, script) or []) if has_many_values(name)] if step is not None else []
        if step is not None and many:
            yield script.found(step.node, f"a folder for each `{many[0]}`")


def _reads_its_own(script: Script) -> Iterator[Found]:
    for query in script.queries:
        written = script.constants.of(query.start.argument(0, "path" if query.start.name == "start" else "tableName"))
        for step in query.frame.all_steps:
            if step.name in {"load", "table", *FILE_FORMATS} and step.call is not None and isinstance(written, str):
                read = script.constants.of(step.argument(0, "path"))
                if isinstance(read, str) and read.rstrip("/") == written.rstrip("/"):
                    yield script.found(query.start.node, f"the query reads and writes `{written}`")


def _of_batch(script: Script, function: ast.FunctionDef) -> list[tuple[Frame, Step]]:
    inside = {id(node) for node in walk(function)}
    return [
        (frame, step)
        for frame, step in script.frames.used
        if frame.origin is Origin.MICRO_BATCH and id(step.node) in inside
    ]


CHECKS: Final[dict[str, Check]] = {
    "debugging-sink": _debugging,
    "file-sink": _files,
    "foreach-batch-not-idempotent": _appends_again,
    "foreach-batch-reads-twice": _reads_twice,
    "partition-by-many-values": _partitions,
    "writes-what-it-reads": _reads_its_own,
}
