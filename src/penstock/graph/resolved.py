"""Flows after analysis, and the graph that they form. Frozen, and free of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.errors import PenstockError, SourceLocation
from penstock.graph.elements import (
    UNBOUNDED_STATE_ALLOWED,
    AnySink,
    Dataset,
    EventHook,
    MaterializedView,
    StreamingTable,
    TemporaryView,
    UnresolvedFlow,
)
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.schema.column_lineage import ColumnLineage
from penstock.graph.schema.table_schema import Schema
from penstock.graph.stream_definition import StreamDefinition

ROWS_AS_QUERIED = frozenset(
    {FlowType.APPEND, FlowType.COMPLETE, FlowType.UPDATE, FlowType.APPEND_ONCE, FlowType.MATERIALIZED_VIEW}
)
"""The flows that store the rows of their query, in its columns or those declared, and nothing else."""


@dataclass(frozen=True, slots=True)
class Input:
    """One read of a flow.

    `dataset` is set for a read of the pipeline's own graph (views included), else None.
    `format` and `description` say the rest: `("kafka", "orders")`, `("cloudFiles", "./data")`,
    `("delta", "other.table")`. `name` is the source's name in the checkpoint, None for a batch read.
    With `from_quarantine` it is not the rows of `dataset`, a table, that are read, but those of its quarantine: its
    flows write both, so whatever holds for a reader of the table holds for a reader of the quarantine.
    A source that is not `replayable` cannot give a batch again. `limits` are the options that bound its batches, and
    how many tasks read one, as they were given.
    """

    format: str
    description: str
    streaming: bool
    dataset: Identifier | None = None
    name: str | None = None
    from_quarantine: bool = False
    replayable: bool = True
    limits: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> str:
        """What is read, for people: a dataset's name, or format and description of something outside."""
        return f"{self.format} {self.description}" if self.dataset is None else self.description


@dataclass(frozen=True, slots=True)
class QueryDefinition:
    """What the result of a batch query depends on, besides the pipeline's own tables.

    `fingerprint` changes with the query, in whatever process it is analysed. `outside` are the paths
    of the Delta tables that the pipeline does not declare. `always` says why the result can differ
    although definition and tables are the same, None when it cannot; `moving` that it can do so
    while the process runs. `methods` are those by which it can be refreshed incrementally; `full` says
    why it cannot when there are none.
    """

    fingerprint: str
    outside: tuple[str, ...] = ()
    always: str | None = None
    moving: bool = False
    methods: tuple[str, ...] = ()
    full: str = ""


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """What a table of change flows depends on for good: only a full refresh can change it.

    `keys` are the key columns with their types, `ignoring` the columns whose NULLs are ignored. With `partial` each
    event names the columns that it changes.
    """

    keys: tuple[str, ...]
    sequence_type: str
    scd_type: int
    ignoring: tuple[str, ...] = ()
    partial: bool = False

    @property
    def keeps_rows(self) -> bool:
        """Whether older events are needed whole; else it is enough to know their sequence."""
        return self.scd_type == 2 or bool(self.ignoring) or self.partial


@dataclass(frozen=True, slots=True)
class UpdateKeys:
    """The columns by which an update flow finds the rows of its table; none when the table has a single row.

    `distinct` says that no batch has two rows of a key, because the query groups by it.
    """

    columns: tuple[str, ...]
    distinct: bool


@dataclass(frozen=True, slots=True)
class EndlessState:
    """A stateful operator that keeps the state of each of its keys for ever; `location` is the call that made it."""

    operator: str
    location: SourceLocation | None


@dataclass(frozen=True, slots=True)
class OneSidedJoin:
    """A join of two streams on `marked` = `unmarked`, columns of which only the first has a watermark.

    A late row of the other side would be in no table, and not be counted.
    """

    marked: str
    unmarked: str


@dataclass(frozen=True, slots=True)
class ResolvedFlow:
    """A flow whose query was analysed.

    `schema` is what the flow brings to its target, before the target's own schema is applied. `stateful` names
    the stateful operators, outermost first (`aggregate`, `deduplicate`, `stream-stream join`, …).
    `watermark` is the event-time column and delay, e.g. `("order_time", "1 hour")`.
    `definition` is that of a batch query, None for a streaming one. `changes` is of a flow that applies changes
    by key. `judged` are the columns of the rows that expectations see and a quarantine keeps, where they are
    not those of `schema`: of such a flow they are the columns of its events.
    `stream` is what the checkpoint of a streaming flow depends on. `keys` are of a flow that updates a table.
    `endless` are those of its stateful operators whose state only grows. `widens` says that a source of the flow gives
    columns wider types when files have them, `schema_locations` where the schemas of such sources are kept. `lineage`
    is that of the columns of `schema`.
    """

    declaration: UnresolvedFlow
    type: FlowType
    schema: Schema
    streaming: bool
    inputs: tuple[Input, ...]
    stateful: tuple[str, ...] = ()
    watermark: tuple[str, str] | None = None
    definition: QueryDefinition | None = None
    changes: AppliedChanges | None = None
    stream: StreamDefinition | None = None
    judged: Schema | None = None
    keys: UpdateKeys | None = None
    endless: tuple[EndlessState, ...] = ()
    widens: bool = False
    schema_locations: tuple[str, ...] = ()
    lineage: ColumnLineage | None = None
    one_sided_joins: tuple[OneSidedJoin, ...] = ()

    @property
    def rows(self) -> Schema:
        """The columns of the rows that expectations see, and that a quarantine keeps."""
        return self.judged or self.schema

    @property
    def upstream(self) -> tuple[Identifier, ...]:
        """The pipeline's datasets that this flow reads directly, without repetition, in order."""
        return tuple(dict.fromkeys(read.dataset for read in self.inputs if read.dataset is not None))


@dataclass(frozen=True, slots=True)
class FailedFlow:
    """A flow whose analysis failed; kept, so that all failures are reported together."""

    declaration: UnresolvedFlow
    error: PenstockError
    because_of: Identifier | None = None
    """The dataset read by this flow whose own failure caused this one; None for a direct failure."""


@dataclass(frozen=True, slots=True)
class ResolvedView:
    """A view whose query was analysed; it is inlined into each flow that reads it."""

    view: TemporaryView
    schema: Schema
    streaming: bool
    inputs: tuple[Input, ...]
    lineage: ColumnLineage | None = None

    @property
    def upstream(self) -> tuple[Identifier, ...]:
        """The pipeline's datasets that this view reads directly."""
        return tuple(dict.fromkeys(read.dataset for read in self.inputs if read.dataset is not None))


@dataclass(frozen=True, slots=True)
class ResolvedGraph:
    """A whole pipeline after analysis.

    `order` lists every dataset after all that it reads; `sinks`, which nothing reads, are not part of
    it. `stored_schemas` holds what a reader of each dataset sees: a table's declared schema, else the
    columns of all its flows. `promises` says of a sink what becomes of a row in a crash. `warnings` are
    conditions that do not stop a run (e.g. a streaming aggregation without a watermark).
    `catalog` is the pipeline's own.
    """

    tables: Mapping[Identifier, StreamingTable | MaterializedView]
    views: Mapping[Identifier, ResolvedView]
    flows: tuple[ResolvedFlow, ...]
    order: tuple[Identifier, ...]
    stored_schemas: Mapping[Identifier, Schema]
    warnings: tuple[PenstockError, ...] = field(default=())
    sinks: Mapping[Identifier, AnySink] = field(default_factory=dict)
    promises: Mapping[Identifier, str] = field(default_factory=dict)
    event_hooks: tuple[EventHook, ...] = ()
    catalog: str | None = None

    @property
    def targets(self) -> tuple[Identifier, ...]:
        """What flows write to: the tables, then the sinks."""
        return (*self.tables, *self.sinks)

    def flow_settings(self, flow: ResolvedFlow) -> dict[str, str]:
        """Returns the `spark_conf` of a flow's table and its own, which wins."""
        table = self.tables.get(flow.declaration.target)
        return {**(table.spark_conf if table is not None else {}), **flow.declaration.spark_conf}

    def allows_unbounded_state(self, flow: ResolvedFlow) -> bool:
        """Whether the flow or its table says that state may grow for ever."""
        return str(self.flow_settings(flow).get(UNBOUNDED_STATE_ALLOWED)).casefold() == "true"

    def flows_to(self, target: Identifier) -> tuple[ResolvedFlow, ...]:
        """Returns the flows into `target`, in the order of their declaration."""
        return tuple(flow for flow in self.flows if flow.declaration.target == target)

    def dataset(self, identifier: Identifier) -> Dataset:
        """Returns the declared dataset; a KeyError is a bug of the caller."""
        if identifier in self.views:
            return self.views[identifier].view
        return self.tables[identifier]

    def upstream(self, identifier: Identifier) -> tuple[Identifier, ...]:
        """Returns the datasets that `identifier` (a dataset or a sink) reads directly, views included."""
        if identifier in self.views:
            return self.views[identifier].upstream
        found = [upstream for flow in self.flows_to(identifier) for upstream in flow.upstream]
        return tuple(dict.fromkeys(found))

    def stored_inputs(self, inputs: Iterable[Input]) -> Iterator[Input]:
        """Returns the reads behind `inputs`, seen through views: of tables and of sources outside."""
        for read in inputs:
            if read.dataset is not None and read.dataset in self.views:
                yield from self.stored_inputs(self.views[read.dataset].inputs)
            else:
                yield read

    def upstream_tables(self, identifier: Identifier) -> tuple[Identifier, ...]:
        """Returns the stored datasets that `identifier` reads, seen through views."""
        found: dict[Identifier, None] = {}
        for upstream in self.upstream(identifier):
            if upstream in self.views:
                found.update(dict.fromkeys(self.upstream_tables(upstream)))
            else:
                found[upstream] = None
        return tuple(found)
