"""From a resolved graph and the storage's state to the steps of an update. A pure function."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.batch import OF_A_BATCH_RUN
from penstock.graph.elements import AnySink, MaterializedView, StreamingTable
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ROWS_AS_QUERIED, ResolvedFlow, ResolvedGraph
from penstock.graph.schema.table_schema import Schema
from penstock.plan.change_capture import change_properties, check_changes
from penstock.plan.changes import TableComparison
from penstock.plan.checkpoints import GuardedStream, guard_stream
from penstock.plan.companion_tables import late_row_stages, privacy_changes, protection_changes, quarantine_stages
from penstock.plan.explain import describe, explain_flow
from penstock.plan.full_refresh import FullRefreshCheck, reset_allowed
from penstock.plan.refresh import decide_refresh, recorded_inputs
from penstock.plan.selection import ResolvedSelection
from penstock.plan.stages import (
    AlterTable,
    CreateTable,
    ExcludeDataset,
    FlowStage,
    RefreshMaterializedView,
    ResetTable,
    RunOnceFlow,
    RunSinkFlow,
    RunSnapshotFlow,
    RunStreamingFlow,
    Stage,
    UpdatePlan,
)
from penstock.plan.state import CLUSTER_BY, DATASET_TYPE, GENERATION, PIPELINE, StateSnapshot, TableState
from penstock.plan.unbounded_state import with_state_sizes


def plan_update(
    graph: ResolvedGraph, state: StateSnapshot, selection: ResolvedSelection, *, overlap: bool
) -> UpdatePlan:
    """Returns the steps that bring the selected tables up to date, and the selected sinks.

    With `overlap`, flows that may start before the tables that they read are complete do so.

    Raises:
        StateError: RESET_NOT_ALLOWED, FULL_REFRESH_BREAKS_READERS, DATASET_TYPE_CHANGED, COLUMN_TYPE_CHANGED,
            COLUMN_CONSTRAINT_CHANGED, PARTITIONING_CHANGED, CHANGE_CAPTURE_CHANGED; nothing was written.
    """
    planner = _Planner(graph, state, selection, overlap)
    stages = tuple(planner.stages())
    sized = with_state_sizes(graph, state, planner.goes_on)
    return UpdatePlan(sized, stages, (*planner.notices, *_undeclared(state)), tuple(planner.refusals))


@dataclass(frozen=True, slots=True)
class _Planner:
    graph: ResolvedGraph
    state: StateSnapshot
    selection: ResolvedSelection
    overlap: bool
    notices: list[PenstockError] = field(default_factory=list)
    refusals: list[PenstockError] = field(default_factory=list)
    emptied: set[Identifier] = field(default_factory=set)
    unchanged: set[Identifier] = field(default_factory=set)
    """The materialized views that this update leaves as they are; the graph's order has them before their readers."""

    def stages(self) -> Iterator[Stage]:
        reset = frozenset(table.identifier for table in self.graph.tables.values() if self._resets(table))
        reset |= {sink for sink in self.graph.sinks if sink in self.selection.full_refreshed}
        self._full_refresh.check(reset | self._recreated())
        for identifier in self.graph.order:
            table = self.graph.tables.get(identifier)
            if table is None:
                continue
            if identifier not in self.selection.refreshed:
                yield ExcludeDataset(dataset=identifier, explanation="not selected; stays as it is")
                continue
            existing = self.state.tables.get(identifier)
            as_full_refresh = identifier in reset
            if existing is not None:
                self._check_type(table, existing)
                if not as_full_refresh:
                    _check_streamed(table, existing)
                    check_changes(self.graph, table, existing)
            generation = self._generation(identifier, existing, reset=as_full_refresh)
            yield from self._table_stages(table, existing, generation, reset=as_full_refresh)
            yield from quarantine_stages(
                table, self.graph, self.state, generation=generation, command=self._way_out(identifier)
            )
            yield from late_row_stages(table, self.state, generation=generation)
            for flow in self.graph.flows_to(identifier):
                yield from self._flow_stages(table, flow, generation, reset=as_full_refresh)
        for sink in self.graph.sinks.values():
            yield from self._sink_stages(sink, reset=sink.identifier in reset)

    def goes_on(self, flow: ResolvedFlow) -> bool:
        """Whether a flow goes on with the state of its checkpoint."""
        target = flow.declaration.target
        return (target, flow.declaration.name) in self.state.streams and target not in self.selection.full_refreshed

    def _exists(self, identifier: Identifier) -> bool:
        """Whether the table is there, or the sink has a checkpoint."""
        if identifier in self.graph.sinks:
            return self.state.highest_generation.get(identifier, -1) >= 0
        return identifier in self.state.tables

    def _sink_stages(self, sink: AnySink, *, reset: bool) -> Iterator[Stage]:
        """A sink has no state but its flows' checkpoints; they are all of the sink's newest generation."""
        if sink.identifier not in self.selection.refreshed:
            yield ExcludeDataset(dataset=sink.identifier, explanation="not selected; stays as it is")
            return
        newest = self.state.highest_generation.get(sink.identifier, -1)
        generation = newest + 1 if reset else max(newest, 0)
        again = f"; full refresh: all rows again, what the sink holds is not cleaned (generation {generation})"
        if reset and newest >= 0:
            again += self._read_again(sink.identifier)
        for flow in self.graph.flows_to(sink.identifier):
            guarded = self._guarded(flow, reset=reset)
            yield RunSinkFlow(
                dataset=sink.identifier,
                explanation=explain_flow(self.graph, flow)
                + guarded.describe()
                + (again if reset and newest >= 0 else ""),
                flow=flow,
                sink=sink,
                after=self._after(flow),
                generation=generation,
                overlap=self._can_overlap(flow),
                changes=guarded.changes,
                repairs=guarded.repairs,
            )

    def _read_again(self, target: Identifier) -> str:
        rows = self.state.rows_read(target, None)
        return f"; its flows have read {rows:,} rows so far" if rows else ""

    def _guarded(self, flow: ResolvedFlow, *, reset: bool) -> GuardedStream:
        way_out = self._way_out(flow.declaration.target)
        guarded = guard_stream(self.graph, self.state, flow, reset=reset, way_out=way_out)
        self.refusals.extend(guarded.refusals)
        self.notices.extend(guarded.notices)
        return guarded

    @property
    def _full_refresh(self) -> FullRefreshCheck:
        return FullRefreshCheck(self.graph, self._exists)

    def _way_out(self, identifier: Identifier) -> Callable[[], str]:
        """Returns the command that computes a table again, found when it is needed: that is slow."""
        return lambda: self._full_refresh.safe_command([identifier])

    def _check_type(self, table: StreamingTable | MaterializedView, existing: TableState) -> None:
        was, wanted = existing.dataset_type, table.dataset_type
        if was not in {None, wanted}:
            raise table.refusal(
                "DATASET_TYPE_CHANGED", was=_words(was or ""), wanted=_words(wanted), path=existing.path
            )

    def _recreated(self) -> frozenset[Identifier]:
        """The tables that somebody deleted: to the streams that read them, what is created now is another table."""
        gone = (self.selection.refreshed & self.graph.tables.keys()) - self.state.tables.keys()
        return frozenset(identifier for identifier in gone if self.state.highest_generation.get(identifier, -1) >= 0)

    def _resets(self, table: StreamingTable | MaterializedView) -> bool:
        if table.identifier not in self.selection.full_refreshed or table.identifier not in self.state.tables:
            return False
        if reset_allowed(self.graph, table.identifier):
            return True
        if table.identifier in self.selection.full_refreshed_by_name:
            raise table.refusal("RESET_NOT_ALLOWED")
        return False

    def _generation(self, identifier: Identifier, existing: TableState | None, *, reset: bool) -> int:
        if existing is None:
            # The table was never there, or somebody deleted it: its old checkpoints must not be used.
            return self.state.highest_generation.get(identifier, -1) + 1
        if reset:
            return max(existing.generation, self.state.highest_generation.get(identifier, 0)) + 1
        return existing.generation

    def _table_stages(
        self,
        table: StreamingTable | MaterializedView,
        existing: TableState | None,
        generation: int,
        *,
        reset: bool,
    ) -> Iterator[Stage]:
        path = self.state.paths[table.identifier]
        properties = {
            **change_properties(self.graph, table.identifier),
            **table.table_properties,
            DATASET_TYPE: table.dataset_type,
            GENERATION: str(generation),
            **privacy_changes(table, existing),
            **({PIPELINE: self.state.pipeline} if self.state.pipeline else {}),
            **protection_changes(table, existing),
        }
        schema = self.graph.stored_schemas[table.identifier]
        if existing is None:
            yield CreateTable(
                dataset=table.identifier,
                explanation="does not exist yet",
                table=table,
                schema=schema,
                path=path,
                properties=properties | _layout_note(table),
            )
            return
        comparison = self._comparison(table, existing, schema, properties)
        emptied = comparison.needs_new_table() if isinstance(table, MaterializedView) else None
        if emptied:
            self.emptied.add(table.identifier)
        if emptied or (reset and isinstance(table, StreamingTable)):
            if emptied:
                why = f"emptied, because {emptied}"
            else:
                again = self._read_again(table.identifier)
                why = f"full refresh: emptied, then computed again from its sources (generation {generation}){again}"
            yield ResetTable(
                dataset=table.identifier,
                explanation=why,
                table=table,
                schema=schema,
                path=path,
                properties=properties | _layout_note(table),
            )
            return
        if changes := comparison.changes():
            yield AlterTable(
                dataset=table.identifier, explanation=changes.describe(), table=table, path=path, changes=changes
            )
        if unfilled := comparison.unfilled():
            self.notices.append(
                table.error(
                    "COLUMN_NO_LONGER_FILLED",
                    name=table.identifier,
                    columns=", ".join(unfilled),
                    command=comparison.command(),
                )
            )

    def _comparison(
        self,
        table: StreamingTable | MaterializedView,
        existing: TableState,
        schema: Schema,
        properties: Mapping[str, str],
    ) -> TableComparison:
        identifier = table.identifier
        appended = all(flow.type in ROWS_AS_QUERIED for flow in self.graph.flows_to(identifier))
        return TableComparison(
            table,
            existing,
            schema if appended else existing.schema,
            properties,
            command=self._way_out(identifier),
        )

    def _flow_stages(
        self, table: StreamingTable | MaterializedView, flow: ResolvedFlow, generation: int, *, reset: bool
    ) -> Iterator[FlowStage | ExcludeDataset]:
        identifier = table.identifier
        path = self.state.paths[identifier]
        after = self._after(flow)
        match flow.type:
            case FlowType.APPEND_ONCE | FlowType.CHANGE if flow.declaration.once:
                if (identifier, flow.declaration.name) in self.state.done_once and not reset:
                    yield ExcludeDataset(
                        dataset=identifier, explanation=f"once-flow {flow.declaration.name} already ran"
                    )
                    return
                yield RunOnceFlow(
                    dataset=identifier,
                    explanation=f"{describe(flow)}: {flow.declaration.name}",
                    flow=flow,
                    path=path,
                    after=after,
                    generation=generation,
                )
            case FlowType.SNAPSHOT_CHANGE:
                yield RunSnapshotFlow(
                    dataset=identifier,
                    explanation=explain_flow(self.graph, flow),
                    flow=flow,
                    path=path,
                    after=after,
                    generation=generation,
                )
            case FlowType.MATERIALIZED_VIEW:
                assert isinstance(table, MaterializedView)
                inputs = recorded_inputs(self.graph, flow, self.state.paths)
                decision = decide_refresh(
                    table,
                    flow,
                    self.state,
                    inputs=inputs,
                    changing=[each for each in after if each not in self.unchanged],
                    reset=reset or identifier in self.selection.full_refreshed or identifier in self.emptied,
                    constrained=self.graph.stored_schemas[identifier].constrained,
                )
                if decision.unchanged:
                    self.unchanged.add(identifier)
                yield RefreshMaterializedView(
                    dataset=identifier,
                    explanation=decision.reason,
                    flow=flow,
                    path=path,
                    after=after,
                    inputs=inputs,
                    last=decision.last,
                    keeps_schema=self.graph.stored_schemas[identifier].constrained,
                )
            case _:
                guarded = self._guarded(flow, reset=reset)
                yield RunStreamingFlow(
                    dataset=identifier,
                    explanation=explain_flow(self.graph, flow) + guarded.describe(),
                    flow=flow,
                    path=path,
                    after=after,
                    generation=generation,
                    overlap=self._can_overlap(flow),
                    changes=guarded.changes,
                    repairs=guarded.repairs,
                )

    def _after(self, flow: ResolvedFlow) -> tuple[Identifier, ...]:
        """The tables of this update that the flow waits for."""
        return tuple(
            upstream
            for upstream in self._tables_read_by(flow)
            if upstream in self.selection.refreshed and upstream != flow.declaration.target
        )

    def _can_overlap(self, flow: ResolvedFlow) -> bool:
        """A stateless flow over tables of this pipeline alone may run while they are being filled.

        A stateful one waits: its result can depend on how the input is cut into batches, and one
        large batch is cheaper than many small ones. So does one that merges.
        """
        merges = flow.type.rewrites and flow.declaration.target in self.graph.tables
        if not self.overlap or flow.stateful or merges:
            return False
        return all(read.streaming and read.dataset is not None for read in self.graph.stored_inputs(flow.inputs))

    def _tables_read_by(self, flow: ResolvedFlow) -> tuple[Identifier, ...]:
        found: dict[Identifier, None] = {}
        for upstream in flow.upstream:
            if upstream in self.graph.views:
                found.update(dict.fromkeys(self.graph.upstream_tables(upstream)))
            else:
                found[upstream] = None
        return tuple(found)


def _check_streamed(table: StreamingTable | MaterializedView, existing: TableState) -> None:
    """Keeps streams, which would begin from scratch, out of a table that has all rows already."""
    if OF_A_BATCH_RUN in existing.properties and OF_A_BATCH_RUN not in table.table_properties:
        raise table.refusal("TABLE_OF_BATCH_RUN", path=existing.path)


def _layout_note(table: StreamingTable | MaterializedView) -> dict[str, str]:
    return {CLUSTER_BY: json.dumps(table.cluster_by)} if table.cluster_by else {}


def _undeclared(state: StateSnapshot) -> Iterator[PenstockError]:
    for identifier in state.undeclared:
        yield DefinitionError(
            "DATASET_NOT_DECLARED", dataset=str(identifier), name=identifier, word=shlex.quote(str(identifier))
        )


def _words(dataset_type: str) -> str:
    return dataset_type.replace("_", " ").lower()
