"""The queries of a statement as their clauses, and what each reads: a stream or not, with which watermark.

Only the shape is read, from tokens: Spark's own parser needs a JVM. What is not understood is no stream and no clause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from penstock.graph.sql.names import name_parts
from penstock.graph.sql.tokens import Token, TokenKind

Item: TypeAlias = "Token | Group"


@dataclass(frozen=True, slots=True)
class Group:
    """`( … )`; `start` is the parenthesis."""

    start: Token
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """`WATERMARK column DELAY OF …`; `delay` is what follows OF."""

    token: Token
    column: str
    delay: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """What is known of the rows of a relation or a query.

    Attributes:
        streaming: whether they come from a stream.
        marks: the watermarks on them.
        batch_times: columns that hold the time at which the batch runs.
    """

    streaming: bool = False
    marks: tuple[Mark, ...] = ()
    batch_times: frozenset[str] = frozenset()


Known: TypeAlias = Mapping[str, Rows]
"""Names of queries and views that are known, in lower case."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One table, function or query behind FROM; `name` is empty for what has none."""

    items: tuple[Item, ...]
    name: str
    rows: Rows


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT: the items of its clauses by their first words, and what it reads."""

    select: Token
    clauses: Mapping[str, tuple[Item, ...]]
    relations: tuple[Relation, ...]

    @property
    def rows(self) -> Rows:
        """What is known of its result."""
        reads = [each.rows for each in self.relations]
        marks = tuple(mark for each in reads for mark in each.marks)
        return Rows(any(each.streaming for each in reads), marks, frozenset(_batch_times(self.clauses["SELECT"])))


@dataclass(slots=True)
class Queries:
    """All queries of a statement, the inner ones first; `last` are those of its own level."""

    all: list[Query] = field(default_factory=list)
    last: list[Query] = field(default_factory=list)

    @property
    def rows(self) -> Rows:
        """What is known of the statement's result."""
        return _united(each.rows for each in self.last)


_ENDS: Final = {"UNION", "INTERSECT", "MINUS", "EXCEPT"}
_CLAUSES: Final = {"FROM", "WHERE", "HAVING", "QUALIFY", "LIMIT", "WINDOW"}
_CLAUSES_BY: Final = {"GROUP", "ORDER", "CLUSTER", "DISTRIBUTE", "SORT"}
_NOT_A_NAME: Final = {*_ENDS, *_CLAUSES, *_CLAUSES_BY, "AS", "JOIN", "ON", "USING", "LEFT", "RIGHT", "INNER", "CROSS"}
_NOW: Final = {"CURRENT_TIMESTAMP", "NOW"}
_STREAMS: Final = {"cloud_files"}
"""Functions whose rows are a stream without STREAM."""


def nest(tokens: Iterable[Token]) -> tuple[Item, ...]:
    """Returns tokens with what is in parentheses as groups."""
    levels: list[tuple[Token | None, list[Item]]] = [(None, [])]
    for token in tokens:
        if token.kind is TokenKind.SYMBOL and token.text == "(":
            levels.append((token, []))
        elif token.kind is TokenKind.SYMBOL and token.text == ")" and len(levels) > 1:
            _close(levels)
        else:
            levels[-1][1].append(token)
    while len(levels) > 1:
        _close(levels)
    return tuple(levels[0][1])


def _close(levels: list[tuple[Token | None, list[Item]]]) -> None:
    start, items = levels.pop()
    assert start is not None
    levels[-1][1].append(Group(start, tuple(items)))


def groups_in(items: Iterable[Item]) -> Iterator[tuple[tuple[Item, ...], int]]:
    """Yields every sequence of items, from the outside in, with each place in it where a group stands."""
    waiting = [tuple(items)]
    while waiting:
        level = waiting.pop()
        for position, item in enumerate(level):
            if isinstance(item, Group):
                yield level, position
                waiting.append(item.items)


def is_word(item: Item | None, *words: str) -> bool:
    """Whether an item is one of these keywords, which are given in upper case."""
    return isinstance(item, Token) and item.kind is TokenKind.WORD and item.text.upper() in words


def queries_of(items: Sequence[Item], known: Known) -> Queries:
    """Returns the queries of a statement; `known` are the views that it can read."""
    found = Queries()
    names = dict(known)
    position = 0
    while position < len(items):
        if is_word(items[position], "WITH"):
            position = _common(items, position + 1, names, found)
        elif is_word(items[position], "SELECT"):
            stop = _stop(items, position + 1)
            query = _query(items[position:stop], names, found)
            found.all.append(query)
            found.last.append(query)
            position = stop
        elif isinstance(item := items[position], Group):
            inner = queries_of(item.items, names)
            found.all += inner.all
            found.last += inner.last if position == 0 or is_word(items[position - 1], "AS", "ALL", *_ENDS) else []
            position += 1
        else:
            position += 1
    return found


def _common(items: Sequence[Item], position: int, names: dict[str, Rows], found: Queries) -> int:
    """Reads `name AS (query), …` into the names; returns where the query begins."""
    while (name := _word(items, position)) is not None:
        at = position + 1
        if at < len(items) and isinstance(items[at], Group):
            at += 1
        body = items[at + 1] if at + 1 < len(items) else None
        if not is_word(items[at] if at < len(items) else None, "AS") or not isinstance(body, Group):
            return position
        inner = queries_of(body.items, names)
        found.all += inner.all
        names[name.casefold()] = inner.rows
        position = at + 2
        if position < len(items) and _is_symbol(items[position], ","):
            position += 1
    return position


def _stop(items: Sequence[Item], position: int) -> int:
    """Returns where a SELECT ends: at UNION and the like, which `* EXCEPT (columns)` is not."""
    for at in range(position, len(items)):
        if is_word(items[at], *_ENDS):
            following = items[at + 1] if at + 1 < len(items) else None
            columns = isinstance(following, Group) and not is_word(next(iter(following.items), None), "SELECT", "WITH")
            if not (is_word(items[at], "EXCEPT") and columns):
                return at
    return len(items)


def _query(items: Sequence[Item], names: Known, found: Queries) -> Query:
    clauses: dict[str, list[Item]] = {"SELECT": []}
    clause = "SELECT"
    for position, item in enumerate(items[1:], start=1):
        following = items[position + 1] if position + 1 < len(items) else None
        starts = is_word(item, *_CLAUSES) or (is_word(item, *_CLAUSES_BY) and is_word(following, "BY"))
        if is_word(item, "WINDOW") and isinstance(following, Group):
            starts = False  # the function
        if is_word(item, "FROM") and ("FROM" in clauses or is_word(items[position - 1], "DISTINCT")):
            starts = False  # IS DISTINCT FROM
        if starts and isinstance(item, Token):
            clause = item.text.upper()
            clauses[clause] = []
        elif not (is_word(item, "BY") and not clauses[clause]):
            clauses[clause].append(item)
    inner = [each for name, own in clauses.items() if name != "FROM" for each in own]
    found.all += queries_of([each for each in inner if isinstance(each, Group)], names).all
    relations = tuple(_relation(each, names, found) for each in _pieces(clauses.get("FROM", [])))
    return Query(_token(items[0]), {name: tuple(own) for name, own in clauses.items()}, relations)


def _pieces(items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    """Yields the relations of a FROM clause, each with what follows it."""
    piece: list[Item] = []
    for item in items:
        if _is_symbol(item, ",") or is_word(item, "JOIN"):
            yield tuple(piece)
            piece = []
        elif piece or not is_word(item, "LATERAL"):
            piece.append(item)
    if piece:
        yield tuple(piece)


def _relation(items: tuple[Item, ...], names: Known, found: Queries) -> Relation:
    if not items:
        return Relation(items, "", Rows())
    marks = tuple(_marks(items))
    if isinstance(items[0], Group):
        inner = queries_of(items[0].items, names)
        found.all += inner.all
        rows = inner.rows if inner.all else _relation(items[0].items, names, found).rows
        return Relation(items, "", Rows(rows.streaming, (*marks, *rows.marks), rows.batch_times))
    streaming, at = False, 0
    if is_word(items[0], "STREAM") and len(items) > 1 and not is_word(items[1], *_NOT_A_NAME):
        streaming, at = True, 1
    named = items[1].items if streaming and isinstance(items[1], Group) else items[at:]
    name = _name(named)
    parts = name_parts(name)
    rows = Rows()
    if len(parts) == 1 or (len(parts) == 2 and parts[0].upper() == "LIVE"):
        rows = names.get(parts[-1].casefold(), rows)
    streaming = streaming or rows.streaming or name.casefold() in _STREAMS
    return Relation(items, name, Rows(streaming, (*marks, *rows.marks), rows.batch_times))


def _marks(items: Sequence[Item]) -> Iterator[Mark]:
    for at, item in enumerate(items):
        if not is_word(item, "WATERMARK"):
            continue
        words = [each for each in items[at + 1 :] if isinstance(each, Token)]
        delay = next((number for number, each in enumerate(words) if is_word(each, "DELAY")), None)
        if delay:
            yield Mark(_token(item), words[delay - 1].text.strip("`").casefold(), tuple(words[delay + 2 :]))


def _batch_times(items: Sequence[Item]) -> Iterator[str]:
    """Yields the names that a SELECT gives to `current_timestamp()` or `now()`."""
    for at, item in enumerate(items):
        if is_word(item, *_NOW):
            after = at + 2 if at + 1 < len(items) and isinstance(items[at + 1], Group) else at + 1
            if after < len(items) and is_word(items[after], "AS"):
                after += 1
            name = _word(items, after)
            if name is not None and name.upper() not in _NOT_A_NAME:
                yield name.casefold()


def _united(rows: Iterable[Rows]) -> Rows:
    every = list(rows)
    times = frozenset(name for each in every for name in each.batch_times)
    return Rows(any(each.streaming for each in every), tuple(mark for each in every for mark in each.marks), times)


def _name(items: Sequence[Item]) -> str:
    """Returns the dotted name at the beginning."""
    found = ""
    for item in items:
        if not isinstance(item, Token) or not (item.text == "." or found in {"", "."} or found.endswith(".")):
            break
        if item.text != "." and item.kind not in {TokenKind.WORD, TokenKind.NUMBER, TokenKind.QUOTED_NAME}:
            break
        found += item.text
    return found


def _word(items: Sequence[Item], position: int) -> str | None:
    item = items[position] if position < len(items) else None
    if isinstance(item, Token) and item.kind in {TokenKind.WORD, TokenKind.QUOTED_NAME}:
        return item.text.strip("`")
    return None


def _token(item: Item) -> Token:
    return item.start if isinstance(item, Group) else item


def _is_symbol(item: Item, text: str) -> bool:
    return isinstance(item, Token) and item.kind is TokenKind.SYMBOL and item.text == text
