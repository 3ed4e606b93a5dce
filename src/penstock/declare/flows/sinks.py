"""`create_sink` and `foreach_batch_sink`: where flows write to outside the pipeline's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast, overload

from penstock.declare.dataset_function import (
    DatasetFunction,
    DeclaredSink,
    RefusedDeclaration,
    default_name,
    function_name,
    innermost,
    known_about,
    why_not_called_with,
)
from penstock.declare.declaration import Declaration, declaring
from penstock.declare.expectations import refuse_on_sink
from penstock.declare.parameters import texts
from penstock.graph.elements import FormatSink, FunctionSink

F = TypeVar("F", bound=Callable[..., Any])


def _create_sink(call: Declaration, /, name: str, format: str, options: Mapping[str, str] | None = None) -> None:
    identifier = call.identifier(name)
    if identifier is not None:
        call.registry.add_sink(
            FormatSink(identifier=identifier, location=call.location, format=format, options=texts(options))
        )


create_sink = declaring(
    _create_sink,
    name="create_sink",
    refusals={},
    doc="""Declares a sink of one of Spark's formats, the target of append flows and update flows.

    Args:
        name: Names the sink as `target=` of its flows; no dataset may have the same name.
        format: `kafka`, `delta`, `jdbc` (PostgreSQL, each row once), a file format, or any other format that
            Spark can write streams to, such as a Python data source that a pipeline file registers.
        options: What the format needs: `kafka.bootstrap.servers` and `topic`; `tableName` or `path`
            of a Delta table; `url`, `dbtable`, `user`, `password`, `mode` and `keys` of a database; `path` of
            a folder. Values are never logged, but for names of places.

    A flow into `kafka` returns a column `value`, and `topic` when the option is not there. Each flow
    has a checkpoint of its own. A full refresh starts new checkpoints and hands every row on again:
    what the sink holds already is not cleaned.
    """,
)


class SinkDecorator(Protocol):
    """A decorator of a function of a batch, used bare or called with `name=`."""

    @overload
    def __call__(self, sink_function: F, /) -> F: ...
    @overload
    def __call__(self, *, name: str | None = None) -> Callable[[F], F]: ...


def _foreach_batch_sink(
    call: Declaration, /, sink_function: Callable[..., Any] | None = None, name: str | None = None
) -> Any:
    def decorate(function: Callable[..., Any]) -> DatasetFunction:
        return _declare_function_sink(call, function, name)

    return decorate if sink_function is None else decorate(sink_function)


def _declare_function_sink(call: Declaration, function: Callable[..., Any], name: str | None) -> DatasetFunction:
    known = known_about(function)
    pending = known.pending if known is not None else ()
    call.registry.claim(pending)
    write = innermost(function)
    refused = DatasetFunction(write, declared=RefusedDeclaration())
    text = name if name is not None else default_name(call, write)
    identifier = call.identifier(text) if text is not None else None
    if identifier is None:
        return refused
    refuse_on_sink(call, pending, str(identifier))
    reason = why_not_called_with(write, None, 0, described="the two arguments (df, batch_id)")
    if reason is not None:
        call.error("INVALID_SINK_FUNCTION", function=function_name(write), reason=reason)
        call.registry.refuse(identifier)
        return refused
    call.registry.add_sink(
        FunctionSink(identifier=identifier, location=call.location, function=call.registry.bound(write))
    )
    return DatasetFunction(write, declared=DeclaredSink(str(identifier)))


foreach_batch_sink: SinkDecorator = cast(
    "SinkDecorator",
    declaring(
        _foreach_batch_sink,
        name="foreach_batch_sink",
        doc="""Declares a sink that is a function: it is called with each batch of each flow into it.

    Args:
        name: Names the sink as `target=` of its flows; default: the function's name.

    The function takes `(df, batch_id)`. `df` holds the rows of the batch, may be used several times
    (it is cached meanwhile), and `df.sparkSession` is the session to read and write with.
    `batch_id` counts from 0, and from 0 again after a full refresh, per flow. After a crash or an
    error the same batch is handed over again, so write idempotently: to Delta with a MERGE, or with
    `txnVersion` the batch id and `txnAppId` the query's id, which is the local property
    `sql.streaming.queryId` of the Spark context (never a constant). What it raises is reported with
    its line, and retried unless it is a programming error.
    """,
    ),
)
