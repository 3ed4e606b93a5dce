"""A SQL file as its statements."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.graph.placed_text import PlacedText
from penstock.graph.sql_tokens import TRIVIA, Token, TokenKind, tokenise


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
