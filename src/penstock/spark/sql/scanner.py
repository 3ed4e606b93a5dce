"""Steps over the words of a statement, from a place that Spark's parser names."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from penstock.graph.sql.tokens import TRIVIA, Token, TokenKind, tokenise


class Words:
    """The tokens of a statement that mean something: no space, no comment."""

    def __init__(self, statement: str) -> None:
        self.tokens = [token for token in tokenise(statement) if token.kind not in TRIVIA]

    def scan(self, start: int) -> Scanner:
        """Returns a scanner whose first token is the one at or after offset `start`."""
        return Scanner(self.tokens, self._index(start))

    def between(self, start: int, stop: int) -> list[Token]:
        """Returns the tokens between two offsets."""
        return self.tokens[self._index(start) : self._index(stop)]

    def argument_names(self, start: int, stop: int) -> dict[str, int]:
        """Returns where each `name =>` between two offsets is, by the folded name."""
        inside = self.between(start, stop)
        return {
            name.text.strip("`").casefold(): name.start
            for name, equals, greater in zip(inside, inside[1:], inside[2:], strict=False)
            if (equals.text, greater.text) == ("=", ">")
        }

    def is_after(self, start: int, word: str) -> bool:
        """Whether the token at offset `start` follows that keyword, parentheses apart."""
        position = self._index(start) - 1
        while position >= 0 and self.tokens[position].text == "(":
            position -= 1
        return position >= 0 and self.tokens[position].is_word(word)

    def _index(self, start: int) -> int:
        return bisect_left(self.tokens, start, key=lambda token: token.start)


class Scanner:
    """Consumes tokens; each method returns whether there was what it looks for."""

    def __init__(self, tokens: Sequence[Token], position: int) -> None:
        self._tokens = tokens
        self._position = position
        self.stop = tokens[position].start if position < len(tokens) else 0

    def words(self, *words: str) -> bool:
        """Consumes these keywords, all or none."""
        following = self._tokens[self._position : self._position + len(words)]
        if len(following) < len(words) or not all(map(Token.is_word, following, words)):
            return False
        self._consume(len(words))
        return True

    def symbol(self, text: str) -> bool:
        """Consumes one symbol."""
        return self._is_symbol(text) and self._consume(1)

    def part(self) -> str | None:
        """Consumes one part of a name and returns it without its backquotes."""
        token = self._peek()
        if token is None or token.kind not in {TokenKind.WORD, TokenKind.NUMBER, TokenKind.QUOTED_NAME}:
            return None
        self._consume(1)
        return token.text[1:-1].replace("``", "`") if token.kind is TokenKind.QUOTED_NAME else token.text

    def name(self) -> None:
        """Consumes a name of one or more parts."""
        while self.part() is not None and self.symbol("."):
            pass

    def parentheses(self) -> bool:
        """Consumes `( … )` with all that is nested in it."""
        if not self._is_symbol("("):
            return False
        depth = 0
        while (token := self._peek()) is not None:
            self._consume(1)
            if token.kind is TokenKind.SYMBOL:
                depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth == 0:
                break
        return True

    def _is_symbol(self, text: str) -> bool:
        token = self._peek()
        return token is not None and token.kind is TokenKind.SYMBOL and token.text == text

    def _peek(self) -> Token | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _consume(self, count: int) -> bool:
        self._position += count
        self.stop = self._tokens[self._position - 1].stop
        return True
