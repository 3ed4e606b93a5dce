"""SQL text as tokens: enough to find statements and clauses, and nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

_LINE_COMMENT = re.compile(r"--(?:[^\n\\]|\\\r?\n|\\)*")
_LINE = re.compile(r"[^\n]*")
_MAGIC = "-- MAGIC"
_CELL_END = re.compile(r"--[ \t]*COMMAND[ \t]*-{5,}[ \t\r]*$")
_SIMPLE = re.compile(r"(?P<space>\s+)|(?P<parameter>\$\{[^{}$ ]*\})|(?P<number>\d\w*)|(?P<word>\w+)")
_RAW_STRING = re.compile(r"""[rR](?:'[^']*'|"[^"]*")""")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_QUOTES = {
    "'": re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\]|\\.|"")*"', re.DOTALL),
    "`": re.compile(r"`(?:[^`]|``)*`"),
}


class TokenKind(Enum):
    """What a token is. The first three mean nothing to a statement."""

    SPACE = "space"
    COMMENT = "comment"
    CELL_END = "end of a cell"
    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    QUOTED_NAME = "name in backquotes"
    PARAMETER = "parameter"
    SYMBOL = "symbol"
    UNCLOSED = "text without its end"


_SIMPLE_KINDS = {name: TokenKind(name) for name in _SIMPLE.groupindex}

TRIVIA = (TokenKind.SPACE, TokenKind.COMMENT, TokenKind.CELL_END)  # no set: the hash of an enum takes longer to compute


@dataclass(frozen=True, slots=True)
class Token:
    """`text` as it stands in the source, from `start` on."""

    kind: TokenKind
    text: str
    start: int

    @property
    def stop(self) -> int:
        """Where the next token starts."""
        return self.start + len(self.text)

    def is_word(self, word: str) -> bool:
        """Whether the token is that keyword, in any case of letters."""
        return self.kind is TokenKind.WORD and self.text.casefold() == word.casefold()


@lru_cache(maxsize=16)  # a statement is tokenised where it is found, parsed and judged, soon after one another
def tokenise(text: str) -> tuple[Token, ...]:
    """Returns the tokens of any text; their texts together are the text.

    Strings and comments are Spark's: backslash and doubled quotes, `r'…'`, nested `/* */`. A `;` or a
    `(` is a symbol of its own. `-- COMMAND ----------` of a notebook is the end of a cell.
    """
    return tuple(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        token = _token(text, position)
        yield token
        position = token.stop


def _token(text: str, start: int) -> Token:
    if text[start] in "rR" and (closed := _RAW_STRING.match(text, start)):
        return Token(TokenKind.STRING, closed.group(), start)
    simple = _SIMPLE.match(text, start)
    if simple is not None and simple.lastgroup is not None:
        return Token(_SIMPLE_KINDS[simple.lastgroup], simple.group(), start)
    if text.startswith("--", start):
        return _line_comment(text, start)
    if text.startswith("/*", start):
        stop = _comment_end(text, start)
        return Token(TokenKind.COMMENT if stop else TokenKind.UNCLOSED, text[start : stop or len(text)], start)
    if text[start] in _QUOTES:
        kind = TokenKind.QUOTED_NAME if text[start] == "`" else TokenKind.STRING
        closed = _QUOTES[text[start]].match(text, start)
        return Token(kind, closed.group(), start) if closed else Token(TokenKind.UNCLOSED, text[start:], start)
    return Token(TokenKind.SYMBOL, text[start], start)


def _line_comment(text: str, start: int) -> Token:
    # Spark continues a comment after a backslash; a line of a %python cell may end in one by chance.
    pattern = _LINE if text.startswith(_MAGIC, start) else _LINE_COMMENT
    found = pattern.match(text, start)
    assert found is not None
    comment = found.group()
    at_line_start = start == 0 or text[start - 1] == "\n"
    is_cell_end = at_line_start and _CELL_END.match(comment) is not None
    return Token(TokenKind.CELL_END if is_cell_end else TokenKind.COMMENT, comment, start)


def _comment_end(text: str, start: int) -> int | None:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": r"\%", "_": r"\_"}
_ESCAPED = {
    quote: re.compile(rf"\\(u[0-9A-Fa-f]{{4}}|U[0-9A-Fa-f]{{8}}|[0-3][0-7]{{2}}|.)|{quote}({quote})", re.DOTALL)
    for quote in "'\""
}


def string_value(token: Token) -> str:
    """Returns what a STRING token means."""
    text = token.text
    if text[0] in "rR":
        return text[2:-1]
    return _ESCAPED[text[0]].sub(_unescaped, text[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group(1) or match.group(2)
    if escape[0] in "uU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code <= 0x10FFFF else escape
    if len(escape) == 3:
        return chr(int(escape, 8))
    return _ESCAPES.get(escape, escape)
