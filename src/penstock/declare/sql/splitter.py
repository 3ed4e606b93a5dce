"""A SQL file as its statements, with the values of the pipeline's configuration in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from penstock.errors import DefinitionError
from penstock.graph.sql.placed_text import PlacedText
from penstock.graph.sql.tokens import TRIVIA, Token, TokenKind, tokenise


def split(source: PlacedText) -> tuple[PlacedText, ...]:
    """Returns the statements of a file: what `;` and the ends of notebook cells separate.

    The last statement of a file or cell needs no `;`. Each statement goes from its first to its last
    token that means something, without the `;`; comments alone are no statement.
    """
    found = []
    for piece in pieces(tokenise(source.text)):
        meaning = [token for token in piece if token.kind not in TRIVIA and token.text != ";"]
        if meaning:
            found.append(source.part(meaning[0].start, meaning[-1].stop))
    return tuple(found)


def pieces(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """Yields the tokens in pieces, each with the separator that ends it; no token is lost."""
    piece: list[Token] = []
    for token in tokens:
        piece.append(token)
        if token.kind is TokenKind.CELL_END or (token.kind is TokenKind.SYMBOL and token.text == ";"):
            yield tuple(piece)
            piece = []
    if piece:
        yield tuple(piece)


_PARAMETER = re.compile(r"\$\{([^{}$ ]+)\}")


def substitute(statement: PlacedText, value_of: Callable[[str], str | None]) -> PlacedText:
    """Returns the statement with every `${key}` replaced, also in strings and names, not in comments.

    A value can refer to others. The statements were split before, so that no value can end one.

    Raises:
        DefinitionError: SQL_CONF_NOT_FOUND, at the place of the `${key}`.
    """
    if "${" not in statement.text:
        return statement
    replacements = []
    for token in tokenise(statement.text):
        if token.kind is TokenKind.COMMENT:
            continue
        for match in _PARAMETER.finditer(token.text):
            start = token.start + match.start()
            try:
                value = _value(match.group(1), value_of, ())
            except KeyError as missing:
                place = statement.location(start)
                raise DefinitionError("SQL_CONF_NOT_FOUND", location=place, key=missing.args[0]) from None
            replacements.append((start, start + len(match.group()), value))
    return statement.replaced(replacements)


def _value(key: str, value_of: Callable[[str], str | None], above: tuple[str, ...]) -> str:
    value = None if key in above else value_of(key)
    if value is None:
        raise KeyError(key)
    return _PARAMETER.sub(lambda match: _value(match.group(1), value_of, (*above, key)), value)
