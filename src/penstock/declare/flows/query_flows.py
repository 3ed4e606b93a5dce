"""`append_flow` and `update_flow`: one more query into a streaming table or a sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from penstock.declare.dataset_function import (
    DatasetFunction,
    DeclaredFlow,
    RefusedDeclaration,
    default_name,
    innermost,
    take_query,
)
from penstock.declare.declaration import Declaration, declaring
from penstock.declare.expectations import refuse_on_flow
from penstock.declare.parameters import NAMES, texts
from penstock.graph.elements import UnresolvedFlow

F = TypeVar("F", bound=Callable[..., Any])


class FlowDecorator(Protocol):
    """A decorator of a query function; `target` is required."""

    def __call__(
        self,
        *,
        target: str,
        name: str | None = None,
        comment: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> Callable[[F], F]:
        """Returns the decorator."""


def _append_flow(  # noqa: PLR0917 - the order of the `dlt` API
    call: Declaration,
    /,
    name: str | None = None,
    target: str = "",
    comment: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    once: bool = False,
) -> Any:
    def decorate(function: Callable[..., Any]) -> DatasetFunction:
        return _declare_flow(call, function, name, target, comment=comment, spark_conf=texts(spark_conf), once=once)

    return decorate


def _declare_flow(
    call: Declaration,
    function: Callable[..., Any],
    name: str | None,
    target: str,
    *,
    comment: str | None,
    spark_conf: Mapping[str, str],
    once: bool = False,
    updates: bool = False,
    update_keys: Sequence[str] = (),
) -> DatasetFunction:
    query = innermost(function)
    refused = DatasetFunction(query, declared=RefusedDeclaration())
    taken = take_query(call, function)
    flow_name = name if name is not None else default_name(call, query)
    identifier = call.identifier(target)
    if identifier is None:
        return refused
    if taken is None or flow_name is None:
        call.registry.refuse(identifier)
        return refused
    bound, expectations = taken
    refuse_on_flow(call, expectations, flow_name, str(identifier))
    call.registry.add_flow(
        UnresolvedFlow(
            name=flow_name,
            target=identifier,
            function=bound,
            location=call.location,
            spark_conf=spark_conf,
            comment=comment,
            once=once,
            updates=updates,
            update_keys=tuple(update_keys),
        )
    )
    return DatasetFunction(query, declared=DeclaredFlow(flow_name, str(identifier)))


append_flow: FlowDecorator = cast(
    "FlowDecorator",
    declaring(
        _append_flow,
        name="append_flow",
        required=("target",),
        doc="""Declares a query whose rows are appended to `target`.

    Args:
        target: The streaming table or sink to append to. Required.
        name: Keys the flow's checkpoint; default: the function's name; once per target.
        comment: Written to the event log with the flow.
        spark_conf: Settings of this query; they win over the target's.
        once: Run a batch query one time, and again only after a full refresh (a backfill); tables only.

    The function takes no arguments, returns a DataFrame, and is called more than once.
    """,
    ),
)


class UpdateFlowDecorator(Protocol):
    """A decorator of a query function; `target` is required."""

    def __call__(
        self,
        *,
        target: str,
        name: str | None = None,
        comment: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        keys: Sequence[str] | None = None,
    ) -> Callable[[F], F]:
        """Returns the decorator."""


def _update_flow(  # noqa: PLR0917 - the order of the `dlt` API
    call: Declaration,
    /,
    name: str | None = None,
    target: str = "",
    comment: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    keys: Sequence[str] | None = None,
) -> Any:
    def decorate(function: Callable[..., Any]) -> DatasetFunction:
        return _declare_flow(
            call,
            function,
            name,
            target,
            comment=comment,
            spark_conf=texts(spark_conf),
            updates=True,
            update_keys=keys or (),
        )

    return decorate


update_flow: UpdateFlowDecorator = cast(
    "UpdateFlowDecorator",
    declaring(
        _update_flow,
        name="update_flow",
        required=("target",),
        types={"keys": NAMES},
        doc="""Declares a streaming query whose changed rows go to a table or a sink: output mode update.

    An aggregation hands a group's row on again whenever the group changes; other queries write each
    row once. A table has each row once: it is found by its keys, and replaced.

    Args:
        target: A streaming table, or a sink that takes updates: `kafka`, a `foreach_batch_sink`. Required.
        name: Keys the flow's checkpoint; default: the function's name; once per target.
        comment: Written to the event log with the flow.
        spark_conf: Settings of this query, e.g. `{"pipelines.trigger": "RealTime"}`.
        keys: Of a table, the columns that identify a row; default: what the query groups by.

    The function takes no arguments, returns a streaming DataFrame, and is called more than once.
    """,
    ),
)
