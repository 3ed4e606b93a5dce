"""What the statements of a pipeline's SQL file declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.care.lint.rules.declarations import is_always_true
from penstock.care.lint.rules.sinks import has_many_values
from penstock.care.lint.sql.found import SqlCheck, SqlFound, found_at
from penstock.care.lint.sql.queries import Query, groups_in, is_word, nest, queries_of
from penstock.care.lint.sql.statements import SqlStatement
from penstock.declare.sql.statements import CreateChangeFlow, CreateTable, CreateView, TableKind
from penstock.graph.sql.names import name_parts
from penstock.graph.sql.tokens import TRIVIA, Token, tokenise


def _always(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement in statements:
        declared = statement.declared
        match declared:
            case CreateTable():
                expectations = declared.columns.expectations
            case CreateView():
                expectations = declared.expectations
            case _:
                continue
        for each in expectations:
            if isinstance(each.constraint, str) and is_always_true(each.constraint):
                yield SqlFound(each.location, f"`{each.constraint}` is true for every row")


def _itself(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement in statements:
        declared = statement.declared
        match declared:
            case CreateTable(name=name) | CreateView(name=name) | CreateChangeFlow(target=name):
                own = _parts(name)
            case _:
                continue
        for query in [*statement.queries.all, *_events(declared)]:
            for relation in query.relations:
                if relation.name and _parts(relation.name) == own and not _is_common(statement, own):
                    yield SqlFound(declared.location, f"`{name}` reads `{relation.name}`")
                    break


def _events(declared: CreateTable | CreateView | CreateChangeFlow) -> list[Query]:
    """The query of a flow of changes: FROM without SELECT is none to the statement."""
    changes = None if isinstance(declared, CreateView) else declared.changes
    if changes is None:
        return []
    tokens = [each for each in tokenise(changes.source.text) if each.kind not in TRIVIA]
    return queries_of(nest(tokens), {}).all


def _parts(name: str) -> list[str]:
    parts = [each.casefold() for each in name_parts(name)]
    return parts[1:] if parts[:1] == ["live"] else parts


def _is_common(statement: SqlStatement, own: list[str]) -> bool:
    """Whether the statement has a WITH of that name, which hides the table."""
    words = [each.text.strip("`").casefold() for each in statement.tokens]
    pairs = zip(words, words[1:], words[2:], strict=False)
    return len(own) == 1 and any(pair == (own[0], "as", "(") for pair in pairs)


def _stream_in_view(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement in statements:
        declared = statement.declared
        if not isinstance(declared, CreateTable) or declared.kind is not TableKind.MATERIALIZED_VIEW:
            continue
        for query in statement.queries.all:
            if any(each.rows.streaming and each.name for each in query.relations):
                yield found_at(statement, query.select, f"the query of `{declared.name}` reads a stream")
                break


def _partitions(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement in statements:
        if not isinstance(statement.declared, CreateTable):
            continue
        many = [each for each in statement.declared.clauses.get("partition_columns", ()) if has_many_values(each)]
        for level, position in groups_in(statement.items) if many else ():
            match level[max(position - 2, 0) : position]:
                case [Token() as first, Token() as second] if is_word(first, "PARTITIONED") and is_word(second, "BY"):
                    yield found_at(statement, first, f"a folder for each `{many[0]}`")
                    break


CHECKS: Final[dict[str, SqlCheck]] = {
    "expectation-always-true": _always,
    "dataset-reads-itself": _itself,
    "stream-in-materialized-view": _stream_in_view,
    "partition-by-many-values": _partitions,
}
