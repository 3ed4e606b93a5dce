"""When a query runs, and who waits for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from penstock.care.finding import Edit
from penstock.care.lint.finding import Check, Found
from penstock.care.lint.queries import NOT_STORED
from penstock.care.lint.script import Script
from penstock.errors import ConfigError

_SHORTEST_MS: Final = 100
_MAYBE_SHORT: Final = re.compile(r"\b0|\.\d|ms|mil|mic", re.IGNORECASE)
_CONTINUOUS_SINKS: Final = {"kafka", "console", "memory", "noop", "foreach"}
_STATEFUL: Final = {"groupBy", "groupby", "join", "dropDuplicates", "drop_duplicates", "distinct", "agg", "union"}
_WAITS: Final = ("awaitTermination", "awaitAnyTermination", "processAllAvailable", "sleep", "wait", "join_all")


def _once(script: Script) -> Iterator[Found]:
    for call in script.calls("trigger"):
        for keyword in call.keywords:
            if keyword.arg == "once" and script.constants.of(keyword.value) is True:
                assert keyword.end_lineno is not None
                assert keyword.end_col_offset is not None
                start, end = (keyword.lineno, keyword.col_offset), (keyword.end_lineno, keyword.end_col_offset)
                yield script.found(keyword, "`trigger(once=True)`", Edit(start, end, "availableNow=True"))


def _missing(script: Script) -> Iterator[Found]:
    for query in script.queries:
        stored = query.sink is not None and query.sink not in NOT_STORED
        if stored and query.complete and query.trigger is None and query.start.keyword("trigger") is None:
            yield script.found(query.start.node, f"a query that writes to {query.sink} has no trigger")


def _short(script: Script) -> Iterator[Found]:
    for query in script.queries:
        interval = None if query.trigger is None else query.trigger.keyword("processingTime")
        text = script.constants.of(interval)
        milliseconds = _milliseconds(text) if isinstance(text, str) else None
        if interval is not None and milliseconds is not None and milliseconds < _SHORTEST_MS:
            yield script.found(interval, f"a trigger interval of `{text}`")


def _milliseconds(text: str) -> float | None:
    """Returns how long an interval is when it may be too short; None for one that cannot be, or is none."""
    if not _MAYBE_SHORT.search(text):
        return None
    from penstock.config.values.interval import parse_interval

    try:
        return parse_interval(text) * 1000
    except ConfigError:
        return None


def _continuous(script: Script) -> Iterator[Found]:
    for query in script.queries:
        if query.trigger is None or query.trigger.keyword("continuous") is None:
            continue
        step = next((each for each in query.frame.steps if each.name in _STATEFUL), None)
        if step is not None:
            yield script.found(query.trigger.node, f"a continuous trigger for a query with `{step.name}`")
        elif query.sink is not None and query.sink not in _CONTINUOUS_SINKS:
            yield script.found(query.trigger.node, f"a continuous trigger for a query that writes to {query.sink}")


def _not_awaited(script: Script) -> Iterator[Found]:
    if script.notebook or any(script.calls(*_WAITS)) or script.nodes(ast.While):
        return
    for query in script.queries:
        if script.is_run(query.start.node):
            yield script.found(query.start.node, "the script ends right after the query has started")
            return


CHECKS: Final[dict[str, Check]] = {
    "trigger-once": _once,
    "trigger-missing": _missing,
    "trigger-too-short": _short,
    "continuous-trigger": _continuous,
    "query-not-awaited": _not_awaited,
}
