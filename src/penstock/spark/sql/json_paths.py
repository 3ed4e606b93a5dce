"""`column:field.sub`: in Spark for VARIANT only, on Databricks also for a column of JSON text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.graph.sql.names import quoted
from penstock.graph.sql.tokens import Token, TokenKind, string_value
from penstock.spark import _jvm
from penstock.spark.sql.edits import Edit
from penstock.spark.sql.references import plan_nodes
from penstock.spark.sql.scanner import Words

# What Spark 4.2 says about a path on text; it has no message for this condition, so it is an internal error.
NOT_VARIANT = "COLUMN_IS_NOT_VARIANT_TYPE"


@dataclass(frozen=True, slots=True)
class JsonPath:
    """`text[start:column_stop]` is the column, `text[column_stop:stop]` the path.

    `alias_at` is where the select list needs the name that Spark would have given, `alias`. Paths of the same
    `column` are on the same column, so of the same type.
    """

    start: int
    column_stop: int
    stop: int
    path: str
    column: tuple[int, str]
    alias: str
    alias_at: int | None

    def as_function(self) -> Iterator[Edit]:
        """Yields the edits that make it a `get_json_object`."""
        literal = self.path.replace("\\", "\\\\").replace("'", "\\'")
        name = "" if self.alias_at is None else f" AS {quoted(self.alias)}"
        yield Edit(self.start, self.start, "get_json_object(")
        if self.alias_at in {None, self.stop}:
            yield Edit(self.column_stop, self.stop, f", '{literal}'){name}")
        else:
            yield Edit(self.column_stop, self.stop, f", '{literal}')")
            yield Edit(self.alias_at or 0, self.alias_at or 0, name)


def json_paths(plan: Any, words: Words, statement: str) -> list[JsonPath]:
    """Returns the paths in a parsed statement; nothing is asked of Spark when it has no colon."""
    if not any(token.text == ":" for token in words.tokens):
        return []
    found: dict[int, JsonPath] = {}
    for number, node in enumerate(plan_nodes(plan)):
        aliases = dict(_implicit_aliases(node))
        for expression in _walk(_jvm.scala_seq(node.expressions())):
            if expression.getClass().getSimpleName() != "SemiStructuredExtract":
                continue
            start, stop = _extent(expression)
            column_stop = _extent(expression.child())[1]
            alias_at, alias = aliases.get(stop, (None, ""))
            found[stop] = JsonPath(
                start=start,
                column_stop=column_stop,
                stop=stop,
                path=json_path(words.between(column_stop, stop)),
                column=(number, statement[start:column_stop]),
                alias=alias,
                alias_at=alias_at,
            )
    return list(found.values())


def json_path(tokens: Iterable[Token]) -> str:
    """Returns the JSONPath of the words behind a column: `:a.b[0]['c d']`."""
    path, bracketed = "$", False
    for token in tokens:
        match token.kind:
            case TokenKind.SYMBOL if token.text in "[]":
                bracketed = token.text == "["
            case TokenKind.WORD if not bracketed:
                path += f".{token.text}"
            case TokenKind.QUOTED_NAME:
                path += f"['{token.text[1:-1].replace('``', '`')}']"
            case TokenKind.STRING:
                path += f"['{string_value(token)}']"
            case TokenKind.NUMBER | TokenKind.WORD:
                path += f"[{token.text}]" if bracketed else f".{token.text}"
    return path


def _implicit_aliases(node: Any) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yields the end of each path that names its column in a select list: where the name goes, and the name."""
    match node.getClass().getSimpleName():
        case "Project":
            items = node.projectList()
        case "Aggregate":
            items = node.aggregateExpressions()
        case _:
            return
    for item in _jvm.scala_seq(items):
        # The extent of an UnresolvedAlias is that of the whole query.
        written = item.child() if item.getClass().getSimpleName() == "UnresolvedAlias" else item
        inner = written
        while inner.getClass().getSimpleName() == "Cast":
            inner = inner.child()
        if inner.getClass().getSimpleName() != "Alias":
            continue
        extract = inner.child()
        if extract.getClass().getSimpleName() == "SemiStructuredExtract" and _extent(inner) == _extent(extract):
            yield _extent(extract)[1], (_extent(written)[1], str(inner.name()))


def _walk(expressions: Sequence[Any]) -> Iterator[Any]:
    for expression in expressions:
        yield expression
        yield from _walk(_jvm.scala_seq(expression.children()))


def _extent(expression: Any) -> tuple[int, int]:
    return int(expression.origin().startIndex().get()), int(expression.origin().stopIndex().get()) + 1
