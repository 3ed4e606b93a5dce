"""The expectation decorators. They stack above or below a table or view decorator, in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.config import parse_interval
from penstock.declare.dataset_function import (
    DatasetFunction,
    DeclaredDataset,
    DeclaredFlow,
    DeclaredSink,
    RefusedDeclaration,
    function_name,
    innermost,
    known_about,
)
from penstock.declare.declaration import Declaration, declaring, undecorated
from penstock.declare.parameters import ParameterType, describe
from penstock.errors import ConfigError
from penstock.graph.elements import EventTime, Expectation, OnViolation, UniqueKey

if TYPE_CHECKING:
    from pyspark.sql import Column

F = TypeVar("F", bound=Callable[..., Any])

_ACTION = ParameterType(
    "'warn', 'drop', 'quarantine' or 'fail'", lambda value: value in [each.value for each in OnViolation]
)


@declaring
def expect(call: Declaration, /, name: str, inv: str | Column) -> Callable[[F], F]:
    """Counts the rows for which `inv` is not TRUE (NULL counts), and keeps them.

    `name` names the counts, may hold spaces, and is used once per dataset; `inv` is a SQL condition
    or a Column over the dataset's columns.
    """
    return _expecting(call, {name: inv}, OnViolation.WARN)


@declaring
def expect_or_drop(call: Declaration, /, name: str, inv: str | Column) -> Callable[[F], F]:
    """Counts the rows for which `inv` is not TRUE (NULL counts), and does not write them.

    `name` names the counts, may hold spaces, and is used once per dataset; `inv` is a SQL condition
    or a Column over the dataset's columns.
    """
    return _expecting(call, {name: inv}, OnViolation.DROP)


@declaring
def expect_or_fail(call: Declaration, /, name: str, inv: str | Column) -> Callable[[F], F]:
    """Stops the flow at the first row for which `inv` is not TRUE (NULL counts); its batch is not committed.

    `name` names the counts, may hold spaces, and is used once per dataset; `inv` is a SQL condition
    or a Column over the dataset's columns.
    """
    return _expecting(call, {name: inv}, OnViolation.FAIL)


@declaring
def expect_or_quarantine(call: Declaration, /, name: str, inv: str | Column) -> Callable[[F], F]:
    """Counts the rows for which `inv` is not TRUE (NULL counts), and writes them to `<table>__quarantine` instead.

    A row that breaks a dropping expectation as well goes to quarantine, not lost. `name` names the
    counts, may hold spaces, and is used once per dataset; `inv` is a SQL condition or a Column over
    the dataset's columns.
    """
    return _expecting(call, {name: inv}, OnViolation.QUARANTINE)


@declaring
def expect_all(call: Declaration, /, expectations: Mapping[str, str | Column]) -> Callable[[F], F]:
    """`expect` for each entry of `expectations`, name to condition."""
    return _expecting(call, expectations, OnViolation.WARN)


@declaring
def expect_all_or_drop(call: Declaration, /, expectations: Mapping[str, str | Column]) -> Callable[[F], F]:
    """`expect_or_drop` for each entry of `expectations`: a row that breaks any of them is not written."""
    return _expecting(call, expectations, OnViolation.DROP)


@declaring
def expect_all_or_fail(call: Declaration, /, expectations: Mapping[str, str | Column]) -> Callable[[F], F]:
    """`expect_or_fail` for each entry of `expectations`."""
    return _expecting(call, expectations, OnViolation.FAIL)


@declaring
def expect_all_or_quarantine(call: Declaration, /, expectations: Mapping[str, str | Column]) -> Callable[[F], F]:
    """`expect_or_quarantine` for each entry of `expectations`; a row that breaks several is quarantined once."""
    return _expecting(call, expectations, OnViolation.QUARANTINE)


def _expect_unique(
    call: Declaration, /, keys: str | Sequence[str], name: str | None = None, action: str = OnViolation.WARN.value
) -> Callable[[F], F]:
    """Counts the rows of a table whose key another row has already, in the same batch or in the table.

    `keys` is a column's name or a list of them; a row with a NULL in its key repeats no other. `name`
    names the counts and defaults to `unique <keys>`. `action` says what happens to a row that repeats
    a key: `warn` keeps it, `drop` leaves it out, `quarantine` puts it into `<table>__quarantine`,
    `fail` stops the flow before the batch is committed.
    """
    columns = (keys,) if isinstance(keys, str) else tuple(keys)
    return _expecting(call, {name or f"unique {', '.join(columns)}": UniqueKey(columns)}, OnViolation(action))


def _is_key(value: object) -> bool:
    names = (value,) if isinstance(value, str) else value
    filled = isinstance(names, list | tuple) and all(isinstance(each, str) and each.strip() for each in names)
    return filled and bool(names)


expect_unique = declaring(
    _expect_unique,
    name="expect_unique",
    types={
        "keys": ParameterType("a column name (str) or a list of them", _is_key),
        "action": _ACTION,
    },
)


def _expect_event_time(
    call: Declaration,
    /,
    column: str,
    max_future: str = "1 hour",
    name: str | None = None,
    action: str = OnViolation.QUARANTINE.value,
) -> Callable[[F], F]:
    """Keeps rows without an event time, and those from the future, off the watermarks of flows that read the dataset.

    A row is kept when the timestamp in `column` is at most `max_future` (a length of time, such as `10 minutes`) ahead
    of when its batch was planned. That time stands in the checkpoint: a batch that runs again, after a crash or by
    `penstock replay`, is judged as before. `name` names the counts and defaults to
    `<column> at most <max_future> ahead`. `action` says what happens to another row: `quarantine` puts it into
    `<table>__quarantine`, `drop` leaves it out, `fail` stops the flow before the batch is committed, `warn` keeps it.
    A view stores nothing, so it cannot quarantine by the time at which it is read.
    """
    try:
        seconds = parse_interval(max_future)
    except ConfigError as error:
        call.error(error.condition, **error.facts)
        return undecorated
    rule = EventTime(column, seconds)
    return _expecting(call, {name or f"{column} at most {max_future.strip()} ahead": rule}, OnViolation(action))


expect_event_time = declaring(
    _expect_event_time,
    name="expect_event_time",
    types={
        "column": ParameterType("a column name (str)", lambda value: isinstance(value, str) and bool(value.strip())),
        "max_future": ParameterType("a length of time such as '1 hour' (str)", lambda value: isinstance(value, str)),
        "action": _ACTION,
    },
)


def expectations_of(
    call: Declaration, constraints: Mapping[str, Any] | None, on_violation: OnViolation
) -> tuple[Expectation, ...]:
    """Returns one expectation for each entry, placed at the call's line."""
    return tuple(
        Expectation(name, constraint, on_violation, call.location) for name, constraint in (constraints or {}).items()
    )


def _expecting(call: Declaration, constraints: Mapping[str, Any], on_violation: OnViolation) -> Callable[[F], F]:
    expectations = expectations_of(call, constraints, on_violation)

    def decorate(function: Any) -> Any:
        if not callable(function):
            call.error("INVALID_DATASET_FUNCTION", function=call.function, reason=f"it decorates {describe(function)}")
            return function
        return _attach(call, expectations, function)

    return decorate


def _attach(call: Declaration, expectations: Sequence[Expectation], function: Callable[..., Any]) -> DatasetFunction:
    known = known_about(function)
    declared = known.declared if known is not None else None
    pending = known.pending if known is not None else ()
    match declared:
        case DeclaredDataset(declaration):
            call.registry.add_expectations(declaration, expectations)
        case DeclaredFlow(name, target):
            refuse_on_flow(call, expectations, name, target)
        case DeclaredSink(name):
            refuse_on_sink(call, expectations, name)
        case RefusedDeclaration():
            pass
        case None:
            call.registry.expect_claim(expectations, function_name(innermost(function)))
            pending = (*expectations, *pending)
    return DatasetFunction(innermost(function), pending=pending, declared=declared)


def refuse_on_flow(call: Declaration, expectations: Sequence[Expectation], flow: str, target: str) -> None:
    """Records that a flow has expectations, which belong to its target."""
    for expectation in expectations:
        call.error("EXPECTATION_ON_FLOW", dataset=target, expectation=expectation.name, flow=flow, target=target)


def refuse_on_sink(call: Declaration, expectations: Sequence[Expectation], sink: str) -> None:
    """Records that a sink has expectations: its rows are checked before they get there."""
    for expectation in expectations:
        call.error("EXPECTATION_ON_SINK", dataset=sink, expectation=expectation.name, name=sink)
