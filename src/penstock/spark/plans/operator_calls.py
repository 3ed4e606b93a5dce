"""Which calls of the user's code add operators with state to a streaming query: a plan does not show its lines.

Spark records the call of a column only, and has no hook for operators. So public methods of DataFrame are replaced;
nothing here relies on a private name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyspark.sql.classic.dataframe import DataFrame

_OPERATORS = {
    "groupBy": "aggregate",
    "groupby": "aggregate",
    "rollup": "aggregate",
    "cube": "aggregate",
    "distinct": "deduplicate",
    "dropDuplicates": "deduplicate",
    "drop_duplicates": "deduplicate",
    "join": "stream-stream join",
}
_listener: ContextVar[Callable[[str], None] | None] = ContextVar("penstock_operator_calls", default=None)


@contextmanager
def recording_operator_calls(listener: Callable[[str], None]) -> Iterator[None]:
    """Calls `listener` inside each such call of this thread's context, with the name that `stateful_name` gives."""
    _install()
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@functools.cache
def _install() -> None:
    for method in _OPERATORS:
        _hook(method)


def _hook(method: str) -> None:
    original = getattr(DataFrame, method)

    @functools.wraps(original)
    def hooked(self: Any, *arguments: Any, **named: Any) -> Any:
        made = original(self, *arguments, **named)
        listener = _listener.get()
        if listener is not None and self.isStreaming and _joins_streams(method, arguments, named):
            listener(_OPERATORS[method])
        return made

    setattr(DataFrame, method, hooked)


def _joins_streams(method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether the other side of a join, if it is one, is a stream too."""
    return method != "join" or bool((arguments[0] if arguments else named["other"]).isStreaming)
