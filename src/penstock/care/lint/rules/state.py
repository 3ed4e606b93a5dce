"""What a query remembers between batches, and for how long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from penstock.care.lint.finding import Check, Found
from penstock.care.lint.queries import FILE_FORMATS
from penstock.care.lint.rules.grouping import (
    OWN_STATE,
    called,
    column,
    columns,
    groupings,
    may_aggregate,
    watermarks,
    windows,
)
from penstock.care.lint.script import Script

_DEDUPLICATES: Final = {"dropDuplicates", "drop_duplicates", "distinct"}
_NOW: Final = {"current_timestamp", "now"}
_MANY: Final = re.compile(r"(?:^|_)(?:id|uuid|guid|key|email|session)$|_?ids?$", re.IGNORECASE)
_STATEFUL: Final = {*_DEDUPLICATES, "dropDuplicatesWithinWatermark", *OWN_STATE}


def _ungrouped(script: Script) -> Iterator[Found]:
    for each in groupings(script):
        updated = script.in_dataset(each.step.node) if each.query is None else each.query.mode == "update"
        if each.step.arguments and updated and each.frame.whole and not watermarks(each.frame):
            yield script.found(each.step.node, "a stream is grouped without a watermark")


def _duplicates(script: Script) -> Iterator[Found]:
    for frame, step in script.frames.used:
        unlimited = frame.streaming and frame.whole and not watermarks(frame)
        if step.name in _DEDUPLICATES and step.call is not None and unlimited:
            yield script.found(step.node, f"`{step.name}` of a stream without a watermark")


def _joins(script: Script) -> Iterator[Found]:
    for frame, step in script.frames.used:
        for other in step.others:
            if step.name != "join" or not (frame.streaming and other.streaming and frame.whole and other.whole):
                continue
            without = [side for side, each in (("left", frame), ("right", other)) if not watermarks(each)]
            if without:
                sides = "both sides have" if len(without) == 2 else f"the {without[0]} side has"
                yield script.found(step.node, f"two streams are joined, and {sides} no watermark")


def _watermark_late(script: Script) -> Iterator[Found]:
    groups = {id(each.step.node): each for each in groupings(script)}
    for frame, step in script.frames.used:
        if step.name != "withWatermark" or watermarks(frame):
            continue
        if any(id(before.node) in groups for before in frame.steps):
            yield script.found(step.node, "the watermark is set after the rows were grouped")


def _watermark_elsewhere(script: Script) -> Iterator[Found]:
    for each in groupings(script):
        marks = watermarks(each.frame)
        marked = {column(mark.argument(0, "eventTime"), script) for mark in marks}
        if len(marks) != 1 or None in marked:
            continue
        renamed = {
            column(step.argument(0, "colName"), script)
            for step in each.frame.steps
            if step.name in {"withColumn", "withColumnRenamed", "select", "selectExpr"}
            and each.frame.steps.index(step) > each.frame.steps.index(marks[0])
        }
        for window in windows(each.step):
            used = column(window.args[0] if window.args else None, script)
            keys = {column(key, script) for key in each.step.arguments}
            if used is None or used in marked or renamed or used in {"window", "session_window"} or keys & marked:
                continue
            yield script.found(window, f"the window is over `{used}`, and the watermark is on `{marked.pop()}`")
            break


def _duplicates_forever(script: Script) -> Iterator[Found]:
    for frame, step in script.frames.used:
        if step.name not in {"dropDuplicates", "drop_duplicates"} or not step.arguments or not frame.streaming:
            continue
        marked = {column(mark.argument(0, "eventTime"), script) for mark in watermarks(frame)}
        keys = columns(step, script)
        if marked and keys is not None and None not in marked and not marked & set(keys):
            yield script.found(step.node, f"the keys {', '.join(keys)} are without the event time `{marked.pop()}`")


def _no_delay(script: Script) -> Iterator[Found]:
    for call in script.calls("withWatermark"):
        delay = script.constants.of(call.args[1]) if len(call.args) > 1 else None
        if isinstance(delay, str) and re.fullmatch(r"\s*0+\s*\w+\s*", delay):
            yield script.found(call.args[1], f"a delay of `{delay}`")


def _complete(script: Script) -> Iterator[Found]:
    for each in groupings(script):
        if each.query is None or each.query.mode != "complete":
            continue
        if windows(each.step):
            yield script.found(each.step.node, "complete mode, and the groups are windows")
            continue
        many = [name for name in (column(key, script) for key in each.step.arguments) if name and _MANY.search(name)]
        if many:
            yield script.found(each.step.node, f"complete mode, and the groups are those of `{many[0]}`")


def _impossible(script: Script) -> Iterator[Found]:
    grouped = {id(each.step.node) for each in groupings(script)}
    for query in script.queries:
        if query.mode is None or not query.frame.whole:
            continue
        group = next((step for step in query.frame.all_steps if id(step.node) in grouped), None)
        mode = query.step("outputMode") or query.start
        if query.mode == "append" and group is not None and not watermarks(query.frame):
            yield script.found(mode.node, "append mode, and the query aggregates without a watermark")
        elif query.mode == "complete" and group is None and not any(map(may_aggregate, query.frame.all_steps)):
            yield script.found(mode.node, "complete mode, and the query does not aggregate")
        elif query.mode in {"update", "complete"} and query.sink in FILE_FORMATS:
            yield script.found(mode.node, f"{query.mode} mode, and the sink writes files of {query.sink}")
        elif query.mode == "update" and query.sink == "delta":
            yield script.found(mode.node, "update mode, and the sink is a Delta table")


def _no_timeout(script: Script) -> Iterator[Found]:
    text = "\n".join(script.lines)
    for _frame, step in script.frames.used:
        if step.name not in OWN_STATE or step.call is None:
            continue
        given = [*step.arguments, *(each.value for each in step.call.keywords)]
        said = {ast.unparse(each).rpartition(".")[2].strip("'\"") for each in given}
        if "NoTimeout" in said or ("None" in said and "ttl" not in text.casefold()):
            yield script.found(step.node, f"`{step.name}` without a timeout")


def _processing_time(script: Script) -> Iterator[Found]:
    for frame, step in script.frames.used:
        if step.name != "withWatermark":
            continue
        marked = column(step.argument(0, "eventTime"), script)
        for before in frame.steps:
            value = before.argument(1, "col")
            if before.name != "withColumn" or value is None or called(value) not in _NOW:
                continue
            if column(before.argument(0, "colName"), script) == marked:
                yield script.found(step.node, f"`{marked}` is the time at which a batch runs")


def _partitions(script: Script) -> Iterator[Found]:
    if not (script.master or "").startswith("local") or script.conf("spark.sql.shuffle.partitions") is not None:
        return
    stateful = [each.step for each in groupings(script)]
    stateful += [step for frame, step in script.frames.used if step.name in _STATEFUL and frame.streaming]
    if stateful:
        yield script.found(
            stateful[0].node, "state on a local master, and `spark.sql.shuffle.partitions` is left at 200"
        )


CHECKS: Final[dict[str, Check]] = {
    "aggregation-without-watermark": _ungrouped,
    "deduplication-without-watermark": _duplicates,
    "join-without-watermark": _joins,
    "watermark-after-aggregation": _watermark_late,
    "watermark-on-another-column": _watermark_elsewhere,
    "deduplication-without-event-time": _duplicates_forever,
    "watermark-without-delay": _no_delay,
    "complete-mode-grows": _complete,
    "output-mode-impossible": _impossible,
    "state-without-timeout": _no_timeout,
    "processing-time-as-event-time": _processing_time,
    "shuffle-partitions-default": _partitions,
}
