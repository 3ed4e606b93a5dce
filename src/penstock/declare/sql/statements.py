"""The statements of a SQL file, after parsing. The text of a query in them is Spark's to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.errors import SourceLocation
from penstock.graph.elements import Expectation
from penstock.graph.protection import ColumnMask
from penstock.graph.sql.placed_text import PlacedText


class TableKind(Enum):
    """What a CREATE statement with a stored result makes."""

    STREAMING_TABLE = "STREAMING TABLE"
    MATERIALIZED_VIEW = "MATERIALIZED VIEW"


@dataclass(frozen=True, slots=True)
class ColumnList:
    """What stands in the parentheses behind a name.

    `schema` holds the columns in DDL, None without columns. Keys (informational, never enforced) are
    read and left out.
    """

    schema: str | None = None
    expectations: tuple[Expectation, ...] = ()
    masks: tuple[ColumnMask, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeClauses:
    """Everything behind AUTO CDC INTO or APPLY CHANGES INTO.

    `source` is a SELECT of the events; `options` are fields of `penstock.graph.elements.ChangeFlow` by name, `keys` and
    `sequence_by` at least, with conditions and expressions as SQL text.
    """

    source: PlacedText
    once: bool
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """CREATE STREAMING TABLE, MATERIALIZED VIEW, and their LIVE spellings; `name` is dotted.

    `clauses` are those between the name and AS, by the names of fields of `penstock.graph.elements.Table`.
    `replaces` is the place of OR REPLACE, where that is written instead of OR REFRESH.
    """

    location: SourceLocation
    kind: TableKind
    name: str
    private: bool
    columns: ColumnList
    clauses: Mapping[str, Any]
    query: PlacedText | None
    changes: ChangeClauses | None = None
    replaces: SourceLocation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    """CREATE TEMPORARY VIEW, VIEW, LIVE VIEW."""

    location: SourceLocation
    name: str
    comment: str | None
    expectations: tuple[Expectation, ...]
    query: PlacedText


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFlow:
    """CREATE FLOW name AS INSERT INTO [ONCE] target [BY NAME] query."""

    location: SourceLocation
    name: str
    target: str
    comment: str | None
    once: bool
    query: PlacedText


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateChangeFlow:
    """CREATE FLOW name AS AUTO CDC INTO target …, APPLY CHANGES INTO target …; no name: the target's."""

    location: SourceLocation
    name: str | None
    target: str
    comment: str | None
    changes: ChangeClauses


@dataclass(frozen=True, slots=True)
class SetParameter:
    """SET key = value; `value` is None for a SET that only shows the value."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class UseSchema:
    """USE CATALOG name, or USE SCHEMA [catalog.]name; None leaves that part as it was."""

    schema: str | None
    catalog: str | None


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """EXPLAIN CREATE …, or a statement that declares nothing and changes no row, such as SELECT."""


Statement = CreateTable | CreateView | CreateFlow | CreateChangeFlow | SetParameter | UseSchema | WithoutEffect
