"""What a query in SQL remembers between batches, and for how long."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from penstock.care.lint.sql.found import SqlCheck, SqlFound, found_at
from penstock.care.lint.sql.queries import Group, Item, Query, is_word
from penstock.care.lint.sql.statements import SqlStatement
from penstock.graph.sql.tokens import Token, TokenKind

_WINDOWS: Final = ("WINDOW", "SESSION_WINDOW")
_ZERO: Final = re.compile(r"0+(?:\s*\w+)?")


def _queries(statements: Sequence[SqlStatement]) -> Iterator[tuple[SqlStatement, Query]]:
    for statement in statements:
        for query in statement.queries.all:
            yield statement, query


def _ungrouped(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, query in _queries(statements):
        group = query.clauses.get("GROUP")
        if group and query.rows.streaming and not query.rows.marks:
            yield found_at(statement, _first(group), "a stream is grouped without a watermark")


def _duplicates(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, query in _queries(statements):
        first = next(iter(query.clauses["SELECT"]), None)
        if is_word(first, "DISTINCT") and query.rows.streaming and not query.rows.marks:
            yield found_at(statement, query.select, "`SELECT DISTINCT` of a stream without a watermark")


def _joins(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, query in _queries(statements):
        streams = [each for each in query.relations if each.rows.streaming]
        without = [each for each in streams if not each.rows.marks]
        if len(streams) > 1 and without:
            count = "none of them has" if len(without) == len(streams) else f"{len(without)} of them has no"
            evidence = f"{len(streams)} streams are joined, and {count} a watermark".replace("no a", "no")
            yield found_at(statement, _first(streams[1].items), evidence)


def _elsewhere(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, query in _queries(statements):
        marks = query.rows.marks
        if len(query.relations) != 1 or len(marks) != 1 or not query.relations[0].name:
            continue
        named = {each.text.strip("`").casefold() for each in query.clauses["SELECT"] if isinstance(each, Token)}
        keys = {each.text.strip("`").casefold() for each in query.clauses.get("GROUP", ()) if isinstance(each, Token)}
        for token, arguments in _windows(query):
            used = _column(arguments)
            if used is not None and used != marks[0].column and used not in named and marks[0].column not in keys:
                evidence = f"the window is over `{used}`, and the watermark is on `{marks[0].column}`"
                yield found_at(statement, token, evidence)
                break


def _batch_time(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, query in _queries(statements):
        for relation in query.relations:
            for mark in relation.rows.marks:
                if mark.column in relation.rows.batch_times:
                    yield found_at(statement, mark.token, f"`{mark.column}` is the time at which a batch runs")
        if not query.rows.streaming:
            continue
        for token, arguments in _windows(query):
            if is_word(next(iter(arguments), None), "CURRENT_TIMESTAMP", "NOW"):
                yield found_at(statement, token, "the windows are over the time at which a batch runs")


def _no_delay(statements: Sequence[SqlStatement]) -> Iterator[SqlFound]:
    for statement, query in _queries(statements):
        for mark in query.rows.marks:
            if statement.tokens and mark.token not in statement.tokens:
                continue  # of a view, where it is found
            amount = next((each for each in mark.delay if each.kind in {TokenKind.NUMBER, TokenKind.STRING}), None)
            if amount is not None and _ZERO.fullmatch(amount.text.strip("'\"").strip()):
                yield found_at(statement, mark.token, "a delay of `0`")


def _windows(query: Query) -> Iterator[tuple[Token, tuple[Item, ...]]]:
    """Yields the calls of `window` and `session_window` among the keys, each with its arguments."""
    keys = query.clauses.get("GROUP", ())
    for name, arguments in itertools.pairwise(keys):
        if is_word(name, *_WINDOWS) and isinstance(name, Token) and isinstance(arguments, Group):
            yield name, arguments.items


def _column(arguments: Sequence[Item]) -> str | None:
    """Returns the last part of the first argument, when it is a name."""
    last = None
    for item in arguments:
        if not isinstance(item, Token) or item.text == ",":
            return last if isinstance(item, Token) else None
        if item.kind in {TokenKind.WORD, TokenKind.QUOTED_NAME}:
            last = item.text.strip("`").casefold()
        elif item.text != ".":
            return None
    return last


def _first(items: Sequence[Item]) -> Token:
    return items[0].start if isinstance(items[0], Group) else items[0]


CHECKS: Final[dict[str, SqlCheck]] = {
    "aggregation-without-watermark": _ungrouped,
    "deduplication-without-watermark": _duplicates,
    "join-without-watermark": _joins,
    "watermark-on-another-column": _elsewhere,
    "processing-time-as-event-time": _batch_time,
    "watermark-without-delay": _no_delay,
}
