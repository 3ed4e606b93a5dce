"""`view` and `temporary_view`: a named query that is never stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast, overload

from penstock.declare.dataset_function import (
    DatasetFunction,
    DeclaredDataset,
    RefusedDeclaration,
    innermost,
    named_query,
)
from penstock.declare.declaration import Declaration, declaring
from penstock.declare.parameters import texts
from penstock.graph.elements import TemporaryView

F = TypeVar("F", bound=Callable[..., Any])

_ARGUMENTS = """

    Args:
        name: 1 to 3 parts; default: the function's name.
        comment: Shown in the lineage.
        spark_conf: Settings of the query.

    The function takes no arguments, returns a DataFrame (streaming or batch), and is called more
    than once. Its expectations are counted by each flow that reads the view.
"""


class ViewDecorator(Protocol):
    """A decorator of a query function, used bare (`@view`) or called (`@view(name=...)`)."""

    @overload
    def __call__(self, query_function: F, /) -> F: ...
    @overload
    def __call__(
        self, *, name: str | None = None, comment: str | None = None, spark_conf: Mapping[str, str] | None = None
    ) -> Callable[[F], F]: ...


def _view_decorator(name: str, meaning: str) -> ViewDecorator:
    def declare(
        call: Declaration,
        /,
        query_function: Callable[..., Any] | None = None,
        name: str | None = None,
        comment: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
    ) -> Any:
        def decorate(function: Callable[..., Any]) -> DatasetFunction:
            return _declare_view(call, function, name, comment, texts(spark_conf))

        return decorate if query_function is None else decorate(query_function)

    return cast("ViewDecorator", declaring(declare, name=name, doc=meaning + _ARGUMENTS))


def _declare_view(
    call: Declaration,
    function: Callable[..., Any],
    name: str | None,
    comment: str | None,
    spark_conf: Mapping[str, str],
) -> DatasetFunction:
    query = innermost(function)
    named = named_query(call, function, name)
    if named is None:
        return DatasetFunction(query, declared=RefusedDeclaration())
    identifier, bound, expectations = named
    declaration = call.registry.add_dataset(
        TemporaryView(
            identifier=identifier,
            location=call.location,
            comment=comment,
            spark_conf=spark_conf,
            expectations=expectations,
            function=bound,
        )
    )
    return DatasetFunction(query, declared=DeclaredDataset(declaration))


view = _view_decorator("view", """Declares a view: a named query, inlined into each flow that reads it.""")
create_view = _view_decorator("create_view", """The old name of `view`.""")
temporary_view = _view_decorator("temporary_view", """Declares a view, by the name of the newer API.""")
