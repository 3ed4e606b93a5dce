"""`${key}` in SQL: replaced as text by a value of the pipeline's configuration."""

from __future__ import annotations

import re
from collections.abc import Callable

from penstock.errors import DefinitionError
from penstock.graph.placed_text import PlacedText
from penstock.graph.sql_tokens import TokenKind, tokenise

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
