"""After a crash Spark calls the function of `foreachBatch` again with the same batch, and the same batch id."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from penstock.errors import DefinitionError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite

_ONCE = frozenset({"merge", "txnVersion", "MERGE"})
"""What a function uses that writes a repeated batch only once; SQL text is matched by its words."""


def foreach_batch_repeats(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Notes a function that neither looks at the batch id nor merges: it may write the rows of a batch twice."""
    if write.function is None or distinguishes_batches(write.function):
        return write
    starting.notice(
        DefinitionError(
            "FOREACH_BATCH_REPEATS",
            location=write.location,
            query=write.name,
            function=getattr(write.function, "__name__", "the function"),
        )
    )
    return write


def distinguishes_batches(function: Callable[..., Any]) -> bool:
    """Whether a function uses its batch id, or merges; True too for one whose code says nothing."""
    code = getattr(function, "__code__", None)
    first = 1 if hasattr(function, "__self__") else 0
    if code is None or code.co_argcount < first + 2:
        return True
    batch_id = code.co_varnames[first + 1]
    return any(_ONCE & words or batch_id in words for words in _used(code))


def _used(code: CodeType) -> Iterator[set[str]]:
    for instruction in dis.get_instructions(code):
        if not instruction.opname.startswith("LOAD"):
            continue
        value = instruction.argval
        if isinstance(value, CodeType):
            yield from _used(value)
        elif isinstance(value, str):
            yield set(value.split())
        elif isinstance(value, tuple):  # Python 3.13 loads two at once
            yield {str(each) for each in value}
