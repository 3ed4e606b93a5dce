"""The steps of an update, as data: `penstock plan` prints exactly what `penstock run` executes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.errors import PenstockError
from penstock.graph.elements import AnySink, MaterializedView, StreamingTable
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.graph.schema.table_schema import Schema
from penstock.plan.changes import TableChanges
from penstock.plan.state import RefreshRecord
from penstock.plan.stream_changes import StreamChanges
from penstock.storage.checkpoint.newest import Repair


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step. `explanation` says to a person what it does and why."""

    dataset: Identifier
    explanation: str
    kind: ClassVar[str] = ""

    @property
    def flow_name(self) -> str | None:
        """The flow that the step runs, None for a step about a table."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Returns `{stage, dataset, flow, explanation}`, as in the event log."""
        return {
            "stage": self.kind,
            "dataset": str(self.dataset),
            "flow": self.flow_name,
            "explanation": self.explanation,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUpTable(Stage):
    """Brings the table at `path` to its declaration."""

    table: StreamingTable | MaterializedView
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineTable(SetUpTable):
    """Gives a table a schema and properties; it has no rows then."""

    schema: Schema
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(DefineTable):
    """Creates an empty table with its schema, so that every reader finds it from the start."""

    kind: ClassVar[str] = "create_table"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetTable(DefineTable):
    """Empties a table, with a new layout and the next generation of checkpoints, in one commit."""

    kind: ClassVar[str] = "reset_table"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable(SetUpTable):
    """Brings an existing table up to date with its declaration; no rows are touched."""

    changes: TableChanges
    kind: ClassVar[str] = "alter_table"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStage(Stage):
    """Runs one flow. `after` are the tables whose flows must have ended before it may end."""

    flow: ResolvedFlow
    after: tuple[Identifier, ...]

    @property
    def flow_name(self) -> str | None:
        """The flow's name."""
        return self.flow.declaration.name


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamingStage(FlowStage):
    """Takes new data of the sources to the flow's target, with the checkpoint of a `generation`.

    `overlap` allows the flow to run while the tables that it reads are still being filled. `changes` compares the flow
    with its checkpoint, in which `repairs` are done first.
    """

    generation: int
    overlap: bool
    changes: StreamChanges
    repairs: tuple[Repair, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns what every stage does, and `{verdict, reasons, repairs}` of its checkpoint as `checkpoint`."""
        compared = {
            "verdict": self.changes.verdict.value,
            "reasons": list(self.changes.reasons),
            "repairs": [each.reason for each in self.repairs],
        }
        return FlowStage.to_json(self) | {"checkpoint": compared}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStreamingFlow(StreamingStage):
    """Takes new data of the sources into a streaming table."""

    path: str
    kind: ClassVar[str] = "run_streaming_flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSinkFlow(StreamingStage):
    """Takes new data of the sources to a sink."""

    sink: AnySink
    kind: ClassVar[str] = "run_sink_flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnceFlow(FlowStage):
    """Appends a batch query's rows one single time per generation of its table."""

    path: str
    generation: int
    kind: ClassVar[str] = "run_once_flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshotFlow(FlowStage):
    """Applies the differences of the snapshots that are there to a streaming table."""

    path: str
    generation: int
    kind: ClassVar[str] = "run_snapshot_flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshMaterializedView(FlowStage):
    """Replaces a materialized view by its query's result, in one commit.

    `inputs` are the Delta tables whose versions the commit records: their names, as in a
    `RefreshRecord`, and paths. With `last`, the record of the present rows, the refresh is left out
    when all inputs still have those versions; without it the view is computed in any case.
    `keeps_schema` says that the table enforces or computes columns, which its rows must fit.
    """

    path: str
    inputs: Mapping[str, str]
    last: RefreshRecord | None
    keeps_schema: bool
    kind: ClassVar[str] = "refresh_materialized_view"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludeDataset(Stage):
    """Leaves a dataset as it is, because the selection does not name it."""

    kind: ClassVar[str] = "exclude"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainTable(Stage):
    """Puts small files together and deletes what no version needs any more; no rows are touched.

    `version` and `generation` are the table's newest when this was planned; files that its newest version does not
    need stay for `retention` seconds at least. `optimize` is False for a table that wants to be left alone; `z_order`
    are the columns by which rows that are read together come to lie together; of a `clustered` table Delta knows them.
    """

    path: str
    version: int
    generation: int
    retention: float
    optimize: bool
    clustered: bool
    z_order: tuple[str, ...]
    kind: ClassVar[str] = "maintain_table"


StageT = TypeVar("StageT", bound=Stage)


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """All steps of one update in an order in which they could run one by one.

    `notices` are conditions of the storage that do not stop the update; `refusals` are those for which it cannot
    run before something is done.
    """

    graph: ResolvedGraph
    stages: tuple[Stage, ...]
    notices: tuple[PenstockError, ...] = ()
    refusals: tuple[PenstockError, ...] = ()

    @property
    def warnings(self) -> tuple[PenstockError, ...]:
        """What analysis and planning found that does not stop the update."""
        return (*self.graph.warnings, *self.notices)

    def of_type(self, kind: type[StageT]) -> tuple[StageT, ...]:
        """Returns the stages of one type, in order."""
        return tuple(stage for stage in self.stages if isinstance(stage, kind))

    def to_json(self) -> dict[str, Any]:
        """Returns `{stages: [{stage, dataset, flow, explanation}], warnings, refusals}`."""
        return {
            "stages": [stage.to_json() for stage in self.stages],
            "warnings": [warning.to_json() for warning in self.warnings],
            "refusals": [refusal.to_json() for refusal in self.refusals],
        }
