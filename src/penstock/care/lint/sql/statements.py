"""The SQL statements of a file, a cell or a text, each with what it declares and its queries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from penstock.care.lint.sql.queries import Item, Known, Queries, Rows, nest, queries_of
from penstock.declare.registry import PipelineRegistry, registration_context
from penstock.declare.sql.parser import parse
from penstock.declare.sql.splitter import split, substitute
from penstock.declare.sql.statements import (
    CreateChangeFlow,
    CreateFlow,
    CreateTable,
    CreateView,
    SetParameter,
    Statement,
)
from penstock.errors import DefinitionError
from penstock.graph.sql.names import name_parts
from penstock.graph.sql.placed_text import PlacedText
from penstock.graph.sql.tokens import TRIVIA, Token, tokenise

_OF_A_PIPELINE: Final = re.compile(
    r"\bOR\s+REFRESH\b|\b(?:STREAMING|LIVE)\s+(?:TABLE|VIEW)\b|\bAUTO\s+CDC\b|\bAPPLY\s+CHANGES\b"
    r"|\bCREATE\s+FLOW\b|\bFROM\s+STREAM\b|\bEXPECT\s*\(",
    re.IGNORECASE,
)
_OF_SPARK: Final = re.compile(
    r"\A-- Databricks notebook source|\b(?:read_files|cloud_files|read_kafka)\s*\(|\bspark\.sql\.", re.IGNORECASE
)
_PARAMETER: Final = "${"
_DECLARATIONS: Final = (CreateTable, CreateView, CreateFlow, CreateChangeFlow, SetParameter)


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement.

    Attributes:
        source: its text, with its places in the file.
        tokens: those of its text that mean something.
        items: the same, nested.
        declared: what it declares; None when it is none of a pipeline's declarations.
        queries: its SELECTs.
    """

    source: PlacedText
    tokens: tuple[Token, ...]
    items: tuple[Item, ...]
    declared: Statement | None
    queries: Queries


def is_judged(text: str) -> bool:
    """Returns whether SQL is for Spark, as far as its words tell; that of other databases is not judged."""
    return _OF_A_PIPELINE.search(text) is not None or _OF_SPARK.search(text) is not None


def check_syntax(source: PlacedText) -> DefinitionError | None:
    """Returns what is wrong with the first statement of a pipeline's SQL file that cannot be parsed."""
    if _OF_A_PIPELINE.search(source.text) is None:
        return None
    return next(iter(statements_of(source)[1]), None)


@lru_cache(maxsize=1)  # a file is parsed to be read, and looked at right after that
def statements_of(source: PlacedText) -> tuple[tuple[SqlStatement, ...], tuple[DefinitionError, ...]]:
    """Returns the statements of a text, and PARSE_SYNTAX_ERROR for each that is a pipeline's and cannot be parsed."""
    found, errors = list[SqlStatement](), list[DefinitionError]()
    views: dict[str, Rows] = {}
    token = registration_context.set(PipelineRegistry(root=Path()))  # takes the parser's notices
    try:
        for raw in split(source):
            declared, error = _declared(raw)
            if error is not None and _PARAMETER not in raw.text:
                errors.append(error)
            statement = _statement(raw, declared, views)
            found.append(statement)
            if isinstance(declared, CreateView):
                views[name_parts(declared.name)[-1].casefold()] = Rows(
                    False, statement.queries.rows.marks, statement.queries.rows.batch_times
                )
    finally:
        registration_context.reset(token)
    return tuple(found), tuple(errors)


def _declared(raw: PlacedText) -> tuple[Statement | None, DefinitionError | None]:
    try:
        statement = parse(substitute(raw, lambda key: re.sub(r"\W", "_", key)))
    except DefinitionError as error:
        return None, error if error.condition in {"PARSE_SYNTAX_ERROR", "DUPLICATE_CLAUSES"} else None
    return statement if isinstance(statement, _DECLARATIONS) else None, None


def _statement(raw: PlacedText, declared: Statement | None, views: Known) -> SqlStatement:
    tokens = tuple(each for each in tokenise(raw.text) if each.kind not in TRIVIA)
    items = nest(tokens)
    return SqlStatement(raw, tokens, items, declared, queries_of(items, views))


def joined(texts: Iterable[PlacedText]) -> Iterator[SqlStatement]:
    """Yields the statements of several texts; what cannot be parsed is left to whoever runs it."""
    for text in texts:
        yield from statements_of(text)[0]
