"""What the decorators hand to each other: a function, and what has been declared with it so far."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.declare.declaration import Declaration
from penstock.graph.elements import Expectation
from penstock.graph.identifier import Identifier


@dataclass(frozen=True, slots=True)
class DeclaredDataset:
    """The function is a dataset's query; `declaration` is its number in the registry."""

    declaration: int


@dataclass(frozen=True, slots=True)
class DeclaredFlow:
    """The function is the query of one more flow."""

    name: str
    target: str


@dataclass(frozen=True, slots=True)
class DeclaredSink:
    """The function is a sink's."""

    name: str


@dataclass(frozen=True, slots=True)
class RefusedDeclaration:
    """The function's declaration was wrong, and that is already reported."""


Declared = DeclaredDataset | DeclaredFlow | DeclaredSink | RefusedDeclaration


class DatasetFunction:
    """The result of every decorator: calls like the function, and remembers its declarations.

    `pending` are the expectations below the table or view decorator, in the order in which they are
    written. One object is made per decorator, so that one function can define many datasets.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        pending: tuple[Expectation, ...] = (),
        declared: Declared | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.pending = pending
        self.declared = declared

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Calls the user's function."""
        return self.function(*arguments, **options)

    def __repr__(self) -> str:
        return f"<dataset function {function_name(self.function)}>"


def innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the user's callable itself."""
    return function.function if isinstance(function, DatasetFunction) else function


def known_about(function: object) -> DatasetFunction | None:
    """Returns what earlier decorators noted on `function`, seen through the user's own decorators."""
    seen: object = function
    while seen is not None:
        if isinstance(seen, DatasetFunction):
            return seen
        seen = getattr(seen, "__wrapped__", None)
    return None


def function_name(function: Callable[..., Any]) -> str:
    """Returns the function's own name, or its type's for callables that have none."""
    return str(getattr(function, "__name__", type(function).__name__))


def take_query(
    call: Declaration, function: Callable[..., Any]
) -> tuple[Callable[[], Any], tuple[Expectation, ...]] | None:
    """Returns the query function and the expectations that stood below the decorator.

    None when the function cannot be a query; the error is recorded then.
    """
    known = known_about(function)
    pending = known.pending if known is not None else ()
    call.registry.claim(pending)
    query = innermost(function)
    reason = _why_not_a_query(query)
    if reason is not None:
        call.error("INVALID_DATASET_FUNCTION", function=function_name(query), reason=reason)
        return None
    return call.registry.bound(query), pending


AddDataset = Callable[[Identifier, Callable[[], Any], tuple[Expectation, ...]], int]
"""Adds a dataset to the registry, by its name, its query and its expectations; returns its number there."""


def declare_dataset(call: Declaration, function: Callable[..., Any] | None, name: str | None, add: AddDataset) -> Any:
    """Declares a dataset whose query is `function`; without one yet, returns the decorator that does.

    `name` is the one that was given. When the dataset cannot be declared, the error is recorded and `add` not called.
    """

    def decorate(function: Callable[..., Any]) -> DatasetFunction:
        query = innermost(function)
        taken = take_query(call, function)
        text = name if name is not None else default_name(call, query)
        identifier = call.identifier(text) if text is not None else None
        if identifier is not None and taken is None:
            call.registry.refuse(identifier)
        if identifier is None or taken is None:
            return DatasetFunction(query, declared=RefusedDeclaration())
        return DatasetFunction(query, declared=DeclaredDataset(add(identifier, *taken)))

    return decorate if function is None else decorate(function)


def default_name(call: Declaration, query: Callable[..., Any]) -> str | None:
    """Returns the function's name for a dataset or flow without a name; None when it has none to give."""
    name = function_name(query)
    if name.isidentifier() and hasattr(query, "__name__"):
        return name
    call.error("MISSING_PARAMETER", function=call.function, parameter="name")
    return None


def why_not_called_with(function: Callable[..., Any], *arguments: object, described: str) -> str | None:
    """Returns why a function cannot be called with such `arguments` for what it does; None when it can."""
    reason = _why_not_plain(function, "it yields, so that nothing in it would run")
    if reason is not None:
        return reason
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return f"it cannot be called with {described}"
    except ValueError:  # a builtin without a signature
        return None
    return None


def _why_not_plain(function: Callable[..., Any], yields: str) -> str | None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "it is async"
    if inspect.isgeneratorfunction(function):
        return yields
    return "it is a class" if inspect.isclass(function) else None


def _why_not_a_query(query: Callable[..., Any]) -> str | None:
    reason = _why_not_plain(query, "it yields instead of returning")
    if reason is not None:
        return reason
    try:
        parameters = inspect.signature(query).parameters.values()
    except (TypeError, ValueError):
        return None
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    ]
    return f"it needs the argument '{needed[0]}'" if needed else None
