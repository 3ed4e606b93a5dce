"""`view` and `temporary_view`: a named query that is never stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast, overload

from penstock.declare.dataset_function import declare_dataset
from penstock.declare.declaration import Declaration, declaring
from penstock.declare.parameters import texts
from penstock.graph.elements import Expectation, TemporaryView
from penstock.graph.identifier import Identifier

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
        def add(identifier: Identifier, query: Callable[[], Any], expectations: tuple[Expectation, ...]) -> int:
            return call.registry.add_dataset(
                TemporaryView(
                    identifier=identifier,
                    location=call.location,
                    comment=comment,
                    spark_conf=texts(spark_conf),
                    expectations=expectations,
                    function=query,
                )
            )

        return declare_dataset(call, query_function, name, add)

    return cast("ViewDecorator", declaring(declare, name=name, doc=meaning + _ARGUMENTS))


view = _view_decorator("view", """Declares a view: a named query, inlined into each flow that reads it.""")
create_view = _view_decorator("create_view", """The old name of `view`.""")
temporary_view = _view_decorator("temporary_view", """Declares a view, by the name of the newer API.""")
