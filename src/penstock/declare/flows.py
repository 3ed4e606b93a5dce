"""`append_flow`: one more query into a streaming table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from penstock.declare.parameters import texts
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
    once: bool,
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
        target: The streaming table to append to. Required.
        name: Keys the flow's checkpoint; default: the function's name; once per target.
        comment: Shown in the lineage.
        spark_conf: Settings of this query; they win over the target's.
        once: Run a batch query one time, and again only after a full refresh (a backfill).

    The function takes no arguments, returns a DataFrame, and is called more than once.
    """,
    ),
)
