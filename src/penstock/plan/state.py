"""What the storage looked like when the plan was made. Plain data, gathered by the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.events.flows.refresh_costs import NOTHING_MEASURED, RefreshHistory
from penstock.events.flows.state_size import StateSize
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.graph.stream_definition import StreamDefinition
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.newest import Repair

DATASET_TYPE = "penstock.dataset_type"
GENERATION = "penstock.generation"
PIPELINE = "penstock.pipeline"
CLUSTER_BY = "penstock.cluster_by"


@dataclass(frozen=True, slots=True)
class TableState:
    """An existing table: its schema, its properties and where it lies.

    `generation` counts full refreshes: it is one of the table's own properties, so that emptying a
    table and leaving its old checkpoints behind is one atomic commit. The clustering columns are there
    as a JSON list, because only Spark can read Delta's own note of them.
    """

    path: str
    schema: Schema
    version: int
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    comment: str | None = None
    created_ms: int = 0

    @property
    def generation(self) -> int:
        """The generation of checkpoints that belongs to the table's present rows."""
        return int(self.properties.get(GENERATION, "0"))

    @property
    def dataset_type(self) -> str | None:
        """STREAMING_TABLE, MATERIALIZED_VIEW, or None for a table that Penstock did not make."""
        return self.properties.get(DATASET_TYPE)


@dataclass(frozen=True, slots=True)
class RefreshRecord:
    """What the last refresh of a materialized view was computed from; recorded in the commit that wrote its rows.

    `definition` is the query's fingerprint. `inputs` has the version of each Delta table that was
    read, by its full name or, outside of the pipeline, its path. A version names the table's
    identity too, so that a table that was deleted and created again counts as changed. `exact` says
    that the rows stand for exactly these versions; else they may have newer rows too. `method` is how they
    were refreshed. `history` is what refreshes have cost, this one included.
    """

    definition: str
    inputs: Mapping[str, str]
    exact: bool = False
    method: str = "full"
    history: RefreshHistory = NOTHING_MEASURED


@dataclass(frozen=True, slots=True)
class CheckpointCheck:
    """What was found at a flow's checkpoint: what keeps the flow from going on, and what is repaired before it does."""

    refusals: tuple[PenstockError, ...] = ()
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """The tables that exist, and the once-flows (`(target, flow)`) that already ran in this generation.

    `highest_generation` is that of the newest checkpoint on disk: for tables that were deleted by hand,
    and for sinks, which have nothing else.
    `pipeline` is the pipeline's name, `undeclared` what it once stored and no longer declares.
    `refreshed` says how the rows of a materialized view came about, `versions` the present versions of
    the tables that materialized views read (see `RefreshRecord.inputs`).
    `streams` has the definition with which each checkpoint in use (`(target, flow)`) was last run, None when an older
    version did not note it. `checks` says what is wrong with checkpoints in use; those without a fault are not there.
    `rows_read` says how many rows the flows into a target, or one of them, have read since they were reset; it reads
    the whole event log, so it is called only for what would be read again. `state_size` says how much state a flow
    keeps, None when the end of the event log does not; `table_rows` how many rows a
    stored table has now, None when its log does not. `most_files` is the number of files of the largest table.
    """

    tables: Mapping[Identifier, TableState] = field(default_factory=dict)
    paths: Mapping[Identifier, str] = field(default_factory=dict)
    done_once: frozenset[tuple[Identifier, str]] = frozenset()
    highest_generation: Mapping[Identifier, int] = field(default_factory=dict)
    pipeline: str = ""
    undeclared: tuple[Identifier, ...] = ()
    refreshed: Mapping[Identifier, RefreshRecord] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[tuple[Identifier, str], StreamDefinition | None] = field(default_factory=dict)
    checks: Mapping[tuple[Identifier, str], CheckpointCheck] = field(default_factory=dict)
    rows_read: Callable[[Identifier, str | None], int] = lambda _target, _flow: 0
    state_size: Callable[[Identifier, str], StateSize | None] = lambda _target, _flow: None
    table_rows: Callable[[Identifier], int | None] = lambda _table: None
    most_files: int = 0


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """A finished batch of a flow, with all that it takes to run it again.

    `label` is what commands call the flow, `folder` its checkpoint, `path` the table. The batch made `version` of the
    table, None when it had no rows to write; `before` is the version that it found.
    """

    dataset: Identifier
    flow: str
    label: str
    number: int
    folder: CheckpointFolder
    path: str
    before: int
    version: int | None
