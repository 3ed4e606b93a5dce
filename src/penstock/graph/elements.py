"""What a pipeline declares: datasets, sinks, flows and expectations. Frozen, and free of Spark.

A table's kind is known only after its query was analysed, so a declared `@table` is an
`UndecidedTable` that analysis turns into a `StreamingTable` or a `MaterializedView`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from penstock.errors import DefinitionError, SourceLocation, StateError
from penstock.graph.identifier import Identifier
from penstock.graph.protection import ColumnMask, FunctionCall
from penstock.graph.sql.names import quoted

EMPTY: Mapping[str, str] = MappingProxyType({})

FlowFunction = Callable[[], Any]
"""A dataset function: called without arguments, returns a Spark DataFrame; called more than once."""

DatasetType = Literal["STREAMING_TABLE", "MATERIALIZED_VIEW", "VIEW"]

STORED_TYPES: Final[frozenset[str]] = frozenset({"STREAMING_TABLE", "MATERIALIZED_VIEW"})
"""The types of datasets that are tables."""

BatchFunction = Callable[[Any, int], Any]
"""A sink's function: called with the rows of a batch (a DataFrame) and the batch's number; returns nothing."""


class OnViolation(Enum):
    """What happens to a row for which an expectation's constraint is not TRUE (NULL included)."""

    WARN = "warn"
    DROP = "drop"
    FAIL = "fail"
    QUARANTINE = "quarantine"


class RefreshPolicy(StrEnum):
    """How a materialized view is refreshed: by what changed in its inputs, or in full.

    AUTO does what is cheaper. INCREMENTAL refuses a query that can only be computed in full, INCREMENTAL_STRICT also a
    refresh that has to be. FULL computes the view each time, whether or not anything has changed.
    """

    AUTO = "auto"
    INCREMENTAL = "incremental"
    INCREMENTAL_STRICT = "incremental_strict"
    FULL = "full"

    @property
    def incremental(self) -> bool:
        """Whether a query that can only be computed in full is refused."""
        return self in {RefreshPolicy.INCREMENTAL, RefreshPolicy.INCREMENTAL_STRICT}


class OutputMode(Enum):
    """How a streaming query hands its rows on: each once when it is final, all in each batch, or those that changed."""

    APPEND = "append"
    COMPLETE = "complete"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The constraint that no two rows of a table have the same values in `columns`.

    As in SQL, a NULL equals nothing: a row with one in its key repeats no other.
    """

    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"UNIQUE ({', '.join(self.columns)})"


@dataclass(frozen=True, slots=True)
class EventTime:
    """The constraint that a time is at most `max_future_seconds` ahead of when its batch was planned.

    Its text is the condition in SQL. In a stream, `current_timestamp()` is the time that the checkpoint holds for the
    batch, so a batch that runs again is judged as before.
    """

    column: str
    max_future_seconds: float

    def __str__(self) -> str:
        seconds = f"{self.max_future_seconds:.6f}".rstrip("0").rstrip(".")
        return f"{quoted(self.column)} <= current_timestamp() + INTERVAL {seconds} SECONDS"


class EventPart(Enum):
    """The constraint that a change event, or a row of a snapshot, has what a change flow needs of it."""

    KEY = "the key is not NULL"
    SEQUENCE = "the sequence is not NULL"
    WHERE = "the event meets where"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Expectation:
    """A named constraint on each row of a dataset.

    `constraint` is a SQL boolean expression (str) or a Spark Column over the dataset's columns, or,
    an `EventTime`, or, for a table, a `UniqueKey`, or, for a table of change flows, an `EventPart`.
    """

    name: str
    constraint: Any
    on_violation: OnViolation
    location: SourceLocation

    def error(self, condition: str, dataset: Identifier, **facts: object) -> DefinitionError:
        """Returns the condition at the place of this expectation of `dataset`; `expectation` is among its facts."""
        details: dict[str, Any] = {"expectation": self.name, **facts}
        return DefinitionError(condition, location=self.location, dataset=str(dataset), **details)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the pipeline declares by a name, and where."""

    identifier: Identifier
    location: SourceLocation

    def error(self, condition: str, **facts: object) -> DefinitionError:
        """Returns the condition at the place of this declaration."""
        return DefinitionError(condition, location=self.location, dataset=str(self.identifier), **facts)

    def refusal(self, condition: str, **facts: object) -> StateError:
        """Returns what does not fit this declaration in the storage; `name` is among its facts."""
        details: dict[str, Any] = {"name": self.identifier, **facts}
        return StateError(condition, location=self.location, dataset=str(self.identifier), **details)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset(Named):
    """Something that the pipeline's other datasets can read by name.

    `dataset_type` is what tables and events call its kind, once that is known.
    """

    dataset_type: ClassVar[DatasetType]
    comment: str | None = None
    spark_conf: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    expectations: tuple[Expectation, ...] = ()


def has_uniqueness(dataset: Dataset) -> bool:
    """Whether an expectation asks that rows of the dataset be unique."""
    return any(isinstance(expectation.constraint, UniqueKey) for expectation in dataset.expectations)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryView(Dataset):
    """A named query, never stored: inlined into each flow that reads it."""

    dataset_type: ClassVar[DatasetType] = "VIEW"
    function: FlowFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Dataset):
    """A stored dataset.

    `schema` is a Spark StructType or a DDL string, or None for the query's own schema.
    `path` is a user-chosen location; None means `<storage>/tables/<schema>/<name>`.
    `temporary` tables are stored, and cannot be read by other pipelines on the same storage.
    `refresh_policy` is that of a materialized view. `row_filter` and `masks` say what readers outside of the pipeline
    get to see. `output_mode` is that of its flows, None to choose it by their queries; with `keys`, columns, those that
    update it find their rows.
    """

    schema: Any = None
    table_properties: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    partition_columns: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    path: str | None = None
    format: str = "delta"
    temporary: bool = False
    refresh_policy: RefreshPolicy = RefreshPolicy.AUTO
    row_filter: FunctionCall | None = None
    masks: tuple[ColumnMask, ...] = ()
    output_mode: OutputMode | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedTable(Table):
    """A declared `@table` whose query was not analysed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyStreamingTable(UndecidedTable):
    """A declared `@dp.table`, which is a streaming table in Spark; of a batch query there is a notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamingTable(Table):
    """A table that its flows only ever add to (or, for complete output, replace) incrementally."""

    dataset_type: ClassVar[DatasetType] = "STREAMING_TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializedView(Table):
    """A table that holds its batch query's result, replaced atomically at each refresh."""

    dataset_type: ClassVar[DatasetType] = "MATERIALIZED_VIEW"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Named):
    """Something outside the pipeline that flows write to; its name is known to flows only, nothing can read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatSink(Sink):
    """A sink behind one of Spark's formats. `options` can hold secrets: never print, log or store their values."""

    format: str
    options: Mapping[str, str] = field(default_factory=lambda: EMPTY, repr=False)

    def option(self, name: str) -> str | None:
        """Returns an option by its name in any case of letters, or None."""
        return next((value for key, value in self.options.items() if key.casefold() == name.casefold()), None)

    @property
    def kind(self) -> str:
        """The format, in lower case."""
        return self.format.strip().casefold()

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns by whose values a folder of files, or a Delta table, is divided: `partitionBy`, with commas."""
        return tuple(name for name in (part.strip() for part in (self.option("partitionBy") or "").split(",")) if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSink(Sink):
    """A sink that is a function of the user's, called with each batch."""

    function: BatchFunction


AnySink = FormatSink | FunctionSink


@dataclass(frozen=True, slots=True)
class EventHook:
    """A function of the user's that is called with each event of an update, as a dict.

    After `max_failures` failures in a row it is not called any more in this update; None: never.
    """

    name: str
    function: Callable[[dict[str, Any]], Any]
    location: SourceLocation
    max_failures: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedFlow:
    """A declared query that fills `target`, before analysis.

    The flow of a `@table` is named like its table; `name` keys the checkpoint.
    `once` flows are batch queries that run one time, and again after a full refresh. `updates` flows
    hand a row that changed to their target again (output mode update), which finds it in a table by `update_keys`,
    or, without any, by what the query groups by.
    """

    name: str
    target: Identifier
    function: FlowFunction
    location: SourceLocation
    spark_conf: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    comment: str | None = None
    once: bool = False
    updates: bool = False
    update_keys: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Identifier, str]:
        """Identifies the flow within its pipeline."""
        return self.target, self.name.casefold()

    def error(self, condition: str, **facts: object) -> DefinitionError:
        """Returns the condition at the place of this flow."""
        return DefinitionError(condition, location=self.location, dataset=str(self.target), **facts)


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """`columns` (names, or Spark Columns that are names), or, with `excluded`, all columns but these."""

    columns: tuple[Any, ...] = ()
    excluded: bool = False


TOMBSTONE_SECONDS = "pipelines.cdc.tombstoneGCThresholdInSeconds"
"""The table property that says how long the deletes of a change flow are remembered."""

COLUMN_MAPPING = "delta.columnMapping.mode"
"""The table property with which Delta stores columns under any name."""

TYPE_WIDENING = "delta.enableTypeWidening"
"""The table property with which Delta gives a column a wider type without rewriting a file."""

RESET_ALLOWED = "pipelines.reset.allowed"
"""The table property that says whether a full refresh may empty the table."""

UNBOUNDED_STATE_ALLOWED = "pipelines.unboundedState.allowed"
"""The setting of a flow or its table that says whether state may be kept that no watermark frees."""

ALL_COLUMNS = ColumnSelection(excluded=True)

ScdType = Literal[1, 2]
"""How a change flow keeps its target: 1 the newest row of each key, 2 the history of each key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFlow(UnresolvedFlow):
    """A flow of change events that are applied to `target` by key (AUTO CDC, `apply_changes`).

    `function` reads the source of the events, streaming (batch when `once`). `keys` are column names
    or Spark Columns; `sequence_by`, `where`, `apply_as_deletes` and `apply_as_truncates` are SQL
    expressions (str) or Columns over the source's columns. `columns` are those that reach the target,
    `ignore_null_updates` those whose NULLs leave the older value, `track_history` those whose change
    starts a new row of the history; None means all, none, and all. `columns_to_update` is a column of the
    source: the names of the columns that an event changes; None means that each event changes all.
    """

    keys: tuple[Any, ...]
    sequence_by: Any
    scd_type: ScdType = 1
    where: Any = None
    apply_as_deletes: Any = None
    apply_as_truncates: Any = None
    ignore_null_updates: ColumnSelection | None = None
    columns: ColumnSelection | None = None
    track_history: ColumnSelection | None = None
    columns_to_update: Any = None


NextSnapshot = Callable[[Any], Any]
"""Called with the newest version taken (None at first); returns `(DataFrame, version)`, or None for no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChangeFlow(UnresolvedFlow):
    """A flow of whole snapshots, whose differences are applied to `target` by key.

    With `next_snapshot`, the snapshots and their versions come from it, one after the other, and
    `function` returns the first of them that is there; without, `function` reads one snapshot at each update.
    """

    keys: tuple[Any, ...]
    scd_type: ScdType
    next_snapshot: NextSnapshot | None = None
    track_history: ColumnSelection | None = None


def declared_mode(flow: UnresolvedFlow, target: Dataset | Sink | None) -> OutputMode | None:
    """Returns the output mode that is declared, None when the query decides."""
    if flow.updates:
        return OutputMode.UPDATE
    return target.output_mode if isinstance(target, Table) else None


def declared_keys(flow: UnresolvedFlow, target: Dataset | Sink | None) -> tuple[str, ...]:
    """Returns the columns by which the rows of a table are to be found, empty when the query decides."""
    return flow.update_keys or (target.keys if isinstance(target, Table) else ())
