"""A place in a statement's tokens, moved forward by its parser."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.errors import DefinitionError, SourceLocation, did_you_mean
from penstock.graph.sql.placed_text import PlacedText
from penstock.graph.sql.tokens import TRIVIA, Token, TokenKind, string_value, tokenise

_CLOSING = {"(": ")", "<": ">"}


class Cursor:
    """The tokens of one statement that mean something, one after the other.

    Methods that cannot read what they are asked for raise DefinitionError PARSE_SYNTAX_ERROR at the
    token where they stand.
    """

    def __init__(self, source: PlacedText) -> None:
        self.source = source
        self._tokens = [token for token in tokenise(source.text) if token.kind not in TRIVIA]
        if self._tokens and self._tokens[-1].text == ";":
            self._tokens.pop()
        self._next = 0

    @property
    def location(self) -> SourceLocation:
        """The place of the next token, or of the statement's end."""
        return self.source.location(self.start)

    @property
    def start(self) -> int:
        """The offset of the next token, or of the statement's end."""
        token = self.peek()
        return self._end if token is None else token.start

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self._next == len(self._tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        """Returns the next token, or one further ahead, or None behind the last."""
        position = self._next + ahead
        return self._tokens[position] if position < len(self._tokens) else None

    def at(self, *expected: str) -> bool:
        """Whether the next tokens are these keywords and symbols."""
        tokens = [self.peek(ahead) for ahead in range(len(expected))]
        return all(
            token is not None and (token.is_word(text) or (token.kind is TokenKind.SYMBOL and token.text == text))
            for token, text in zip(tokens, expected, strict=True)
        )

    def has(self, keyword: str) -> bool:
        """Whether a keyword stands anywhere in what is left."""
        return any(token.is_word(keyword) for token in self._tokens[self._next :])

    def accept(self, *expected: str) -> bool:
        """Moves over these keywords and symbols; False, and no move, when something else stands there."""
        if not self.at(*expected):
            return False
        self._next += len(expected)
        return True

    def expect(self, *expected: str) -> None:
        """Moves over keywords and symbols that must stand here."""
        for text in expected:
            if not self.accept(text):
                raise self.error(f"'{text}'", known=(text,))

    def take(self) -> Token:
        """Returns the next token and moves over it."""
        token = self.peek()
        if token is None or token.kind is TokenKind.UNCLOSED:
            raise self.error("more of the statement")
        self._next += 1
        return token

    def string(self) -> str:
        """Reads a string literal; adjacent ones are one, as in Spark."""
        token = self.peek()
        if token is None or token.kind is not TokenKind.STRING:
            raise self.error("a string in quotes")
        parts = []
        while (token := self.peek()) is not None and token.kind is TokenKind.STRING:
            parts.append(string_value(self.take()))
        return "".join(parts)

    def name(self, what: str) -> str:
        """Reads a dotted name, parts in backquotes allowed, and returns it as it is written."""
        first = self.start
        while True:
            token = self.peek()
            if token is None or token.kind not in {TokenKind.WORD, TokenKind.NUMBER, TokenKind.QUOTED_NAME}:
                raise self.error(what)
            self._next += 1
            if not self.at("."):
                return self.source.text[first : self._behind].strip()
            self._next += 1

    def names(self, what: str) -> tuple[str, ...]:
        """Reads `(a, b.c)`: names, at least one, in parentheses."""
        self.expect("(")
        found = [self.name(what)]
        while self.accept(","):
            found.append(self.name(what))
        self.expect(")")
        return tuple(found)

    def group(self) -> PlacedText:
        """Reads `( … )`, whatever is in it, and returns what stands between the parentheses."""
        if not self.at("("):
            raise self.error("'('")
        start = self.start + 1
        self.skip_group()
        return self.source.part(start, self._behind - 1)

    def skip_group(self) -> None:
        """Moves over the `( … )` or, in a type, `< … >` that begins here, whatever is in it."""
        opened: list[tuple[str, SourceLocation]] = []
        while True:
            token = self.peek()
            if token is None:
                raise self._unclosed(*opened[-1])
            if not opened or token.text in {"(", opened[-1][0]}:
                opened.append((token.text, self.location))
            elif token.text == _CLOSING[opened[-1][0]]:
                opened.pop()
            self.take()
            if not opened:
                return

    def skip_to(self, *ends: str) -> None:
        """Moves to the next of the symbols or keywords `ends` that stands outside of all parentheses."""
        while not any(self.at(end) for end in ends):
            if self.at("("):
                self.skip_group()
            elif self.at_end():
                raise self.error(" or ".join(f"'{end}'" for end in ends))
            else:
                self.take()

    def text_since(self, start: int) -> str:
        """Returns the text from the offset `start` to the end of the token before the next one."""
        return self.source.text[start : self._behind]

    def rest(self) -> PlacedText:
        """Returns everything that is left, from the next token to the last, and moves behind it."""
        for token in self._tokens[self._next :]:
            if token.kind is TokenKind.UNCLOSED:
                self._next = self._tokens.index(token)
                raise self.error("")
        start = self.start
        self._next = len(self._tokens)
        return self.source.part(start, self._end)

    def finish(self, expected: str) -> None:
        """Refuses whatever is left."""
        if not self.at_end():
            raise self.error(expected)

    def error(self, expected: str, *, known: Iterable[str] = ()) -> DefinitionError:
        """Returns the error that says what should stand here; `known` are the words for "did you mean"."""
        token = self.peek()
        if token is not None and token.kind is TokenKind.UNCLOSED:
            opening = token.text[:2] if token.text.startswith("/*") else token.text[0]
            return self._unclosed(opening, self.location)
        found = "the end of the statement" if token is None else f"'{_short(token.text)}'"
        near = did_you_mean(token.text, known) if token is not None and token.kind is TokenKind.WORD else ""
        return syntax_error(self.location, found, expected, near)

    def _unclosed(self, opening: str, place: SourceLocation) -> DefinitionError:
        return syntax_error(place, "the end of the statement", f"the end of what begins with {opening} here")

    @property
    def _end(self) -> int:
        return self._tokens[-1].stop if self._tokens else 0

    @property
    def _behind(self) -> int:
        return self._tokens[self._next - 1].stop if self._next else 0


def syntax_error(place: SourceLocation, found: str, expected: str, suggestion: str = "") -> DefinitionError:
    """Returns the error that `found`, a token in quotes or words, stands in the place of what is `expected`."""
    return DefinitionError("PARSE_SYNTAX_ERROR", location=place, found=found, expected=expected, suggestion=suggestion)


def unquoted(names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns column names without their backquotes; a dotted name stays as it is."""
    return tuple(name[1:-1].replace("``", "`") if re.fullmatch(r"`(?:[^`]|``)*`", name) else name for name in names)


def _short(text: str) -> str:
    first = text.splitlines()[0] if text else text
    return first if len(first) <= 40 else first[:39] + "…"
