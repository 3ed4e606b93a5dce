"""An order of analysis in which few queries are analysed twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import FlowFunction
from penstock.graph.identifier import Identifier
from penstock.graph.sql.tokens import TokenKind, tokenise
from penstock.graph.sql_query import SqlQuery


def reading_order(graph: DataflowGraph) -> tuple[Identifier, ...]:
    """Returns every dataset of `graph` once, each after those whose names stand in its SQL, where that is possible.

    No more than a hint: a column can have a dataset's name, a query in Python names nothing, and who
    reads whom is found out when the queries are analysed. Otherwise the order is that of declaration.
    """
    by_name: dict[str, list[Identifier]] = defaultdict(list)
    for identifier in graph.datasets:
        by_name[identifier.name.casefold()].append(identifier)
    functions: dict[Identifier, list[FlowFunction]] = defaultdict(list)
    for view in graph.views:
        functions[view.identifier].append(view.function)
    for flow in graph.flows:
        functions[flow.target].append(flow.function)

    def named_by(identifier: Identifier) -> Iterator[Identifier]:
        for function in functions[identifier]:
            if isinstance(function, SqlQuery):
                for word in _names(function):
                    yield from by_name.get(word, ())

    ordered: dict[Identifier, None] = {}
    begun: set[Identifier] = set()
    for first in graph.datasets:
        path = [(first, named_by(first))] if first not in begun else []
        begun.add(first)
        while path:
            current, following = path[-1]
            upstream = next((each for each in following if each not in begun), None)
            if upstream is None:
                ordered[current] = None
                path.pop()
            else:
                begun.add(upstream)
                path.append((upstream, named_by(upstream)))
    return tuple(ordered)


def _names(query: SqlQuery) -> Iterator[str]:
    for token in tokenise(query.text.text):
        if token.kind is TokenKind.WORD:
            yield token.text.casefold()
        elif token.kind is TokenKind.QUOTED_NAME:
            yield token.text[1:-1].replace("``", "`").casefold()
