"""What a rule about SQL yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.care.lint.sql.statements import SqlStatement
from penstock.errors import SourceLocation
from penstock.graph.sql.tokens import Token


@dataclass(frozen=True, slots=True)
class SqlFound:
    """Where in the script's lines, in characters, and what is there."""

    place: SourceLocation
    evidence: str


SqlCheck: TypeAlias = "Callable[[Sequence[SqlStatement]], Iterator[SqlFound]]"


def found_at(statement: SqlStatement, token: Token, evidence: str) -> SqlFound:
    """Returns what is found at a token of a statement."""
    return SqlFound(statement.source.location(token.start), evidence)
