"""Columns that are qualified as their table is written: `live.orders.id`, `shop.orders.id`.

What stands in for a table has one name only, the last part of the table's: the parts before it go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.graph.sql.names import quoted
from penstock.graph.sql.tokens import Token, TokenKind
from penstock.spark.sql.edits import Edit
from penstock.spark.sql.references import TableReference
from penstock.spark.sql.scanner import Words

_NAMES = {TokenKind.WORD, TokenKind.QUOTED_NAME}


@dataclass(frozen=True, slots=True)
class Qualifiers:
    """The alias of each table that the statement gives none, by its place, and the edits of its columns."""

    aliases: Mapping[int, str]
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class _Chain:
    """A name of several parts, which can be that of a column; the last part can be a star."""

    parts: tuple[str, ...]
    tokens: tuple[Token, ...]


def qualify(words: Words, tables: Sequence[TableReference]) -> Qualifiers:
    """Returns how the columns of `tables` find them.

    Two tables of the same last part (`a.orders`, `b.orders`) are kept apart, unless the statement also calls one
    by the last part alone.
    """
    unnamed = {table.place.start: table for table in tables if table.place.alias_at is not None}
    inside = [(table.place.start, table.place.stop) for table in tables]
    chains = [
        chain
        for chain in _chains(words.tokens)
        if not any(start <= chain.tokens[0].start < stop for start, stop in inside)
    ]
    names = {tuple(part.casefold() for part in table.parts) for table in unnamed.values()}
    shared = Counter(name[-1] for name in names)
    called = {chain.parts[0].casefold() for chain in chains}
    aliases = {}
    for start, table in unnamed.items():
        last = table.parts[-1]
        apart = shared[last.casefold()] > 1 and last.casefold() not in called
        aliases[start] = ".".join(table.parts) if apart else last
    edits = []
    for chain in chains:
        # `sales.orders.id` is of sales.orders where both it and raw.sales.orders are read.
        for start, table in sorted(unnamed.items(), key=lambda each: len(each[1].parts)):
            if qualifier := _qualifier(chain, table):
                name = chain.tokens[qualifier - 1]
                alias = "" if aliases[start] == table.parts[-1] else quoted(aliases[start])
                edits.append(Edit(chain.tokens[0].start, name.stop if alias else name.start, alias))
                break
    return Qualifiers(aliases, tuple(edits))


def _qualifier(chain: _Chain, table: TableReference) -> int:
    """Returns how many parts of `chain` name `table`, 0 when it does not or does so by the last part alone."""
    for count in range(len(table.parts), 1, -1):
        written = [part.casefold() for part in table.parts[-count:]]
        if len(chain.parts) > count and [part.casefold() for part in chain.parts[:count]] == written:
            return count
    return 0


def _chains(tokens: Sequence[Token]) -> Iterator[_Chain]:
    position = 0
    while position < len(tokens):
        found = _chain_at(tokens, position)
        before = tokens[position - 1].text if position else ""
        after = tokens[position + 2 * len(found) - 1].text if position + 2 * len(found) - 1 < len(tokens) else ""
        # Behind a dot or a colon it is a field, before a parenthesis a function.
        if len(found) > 1 and before not in {".", ":"} and after != "(":
            yield _Chain(tuple(_text(token) for token in found), tuple(found))
        position += max(2 * len(found) - 1, 1)


def _chain_at(tokens: Sequence[Token], position: int) -> list[Token]:
    found: list[Token] = []
    while position < len(tokens):
        token = tokens[position]
        if token.kind not in _NAMES and not (found and token.text == "*"):
            break
        found.append(token)
        if token.text == "*" or position + 1 >= len(tokens) or tokens[position + 1].text != ".":
            return found
        position += 2
    return found


def _text(token: Token) -> str:
    return token.text[1:-1].replace("``", "`") if token.kind is TokenKind.QUOTED_NAME else token.text
