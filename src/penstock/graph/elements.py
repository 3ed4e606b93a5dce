"""What a pipeline declares: datasets, sinks, flows and expectations. Frozen, and free of Spark.

A table's kind is known only after its query was analysed, so a declared `@table` is an
`UndecidedTable` that analysis turns into a `StreamingTable` or a `MaterializedView`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from penstock.errors import SourceLocation
from penstock.graph.identifier import Identifier

EMPTY: Mapping[str, str] = MappingProxyType({})

FlowFunction = Callable[[], Any]
"""A dataset function: called without arguments, returns a Spark DataFrame; called more than once."""


class OnViolation(Enum):
    """What happens to a row for which an expectation's constraint is not TRUE (NULL included)."""

    WARN = "warn"
    DROP = "drop"
    FAIL = "fail"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A named constraint on each row of a dataset.

    `constraint` is a SQL boolean expression (str) or a Spark Column over the dataset's columns.
    """

    name: str
    constraint: Any
    on_violation: OnViolation
    location: SourceLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Something that the pipeline's other datasets can read by name."""

    identifier: Identifier
    location: SourceLocation
    comment: str | None = None
    spark_conf: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    expectations: tuple[Expectation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryView(Dataset):
    """A named query, never stored: inlined into each flow that reads it."""

    function: FlowFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Dataset):
    """A stored dataset.

    `schema` is a Spark StructType or a DDL string, or None for the query's own schema.
    `path` is a user-chosen location; None means `<storage>/tables/<schema>/<name>`.
    `temporary` tables are stored but private to the pipeline.
    """

    schema: Any = None
    table_properties: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    partition_columns: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    path: str | None = None
    format: str = "delta"
    temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedTable(Table):
    """A declared `@table` whose query was not analysed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamingTable(Table):
    """A table that its flows only ever add to (or, for complete output, replace) incrementally."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializedView(Table):
    """A table that holds its batch query's result, replaced atomically at each refresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedFlow:
    """A declared query that fills `target`, before analysis.

    The flow of a `@table` is named like its table; `name` keys the checkpoint.
    `once` flows are batch queries that run one time, and again after a full refresh.
    """

    name: str
    target: Identifier
    function: FlowFunction
    location: SourceLocation
    spark_conf: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    comment: str | None = None
    once: bool = False

    @property
    def key(self) -> tuple[Identifier, str]:
        """Identifies the flow within its pipeline."""
        return self.target, self.name.casefold()
