"""Resolved graphs and states built by hand: planning needs neither Spark nor a storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from penstock.errors import PenstockError, SourceLocation
from penstock.events.flows.state_size import StateSize
from penstock.graph.companions.quarantine import owner_of
from penstock.graph.elements import (
    ChangeFlow,
    Expectation,
    FormatSink,
    MaterializedView,
    OnViolation,
    RefreshPolicy,
    SnapshotChangeFlow,
    StreamingTable,
    TemporaryView,
    UnresolvedFlow,
)
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import AppliedChanges, Input, QueryDefinition, ResolvedFlow, ResolvedGraph, ResolvedView
from penstock.graph.schema.table_schema import Schema
from penstock.graph.stream_definition import StreamDefinition
from penstock.plan.planner import plan_update
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import UpdatePlan
from penstock.plan.state import DATASET_TYPE, GENERATION, RefreshRecord, StateSnapshot, TableState

_SCHEMA = Schema('{"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": true, "metadata": {}}]}')
_PLACE = SourceLocation("orders.py", 3)
QUERY = QueryDefinition("q1")


def _id(name: str) -> Identifier:
    return Identifier("shop", name)


def _nothing() -> None:
    raise AssertionError("planning calls no dataset function")


@dataclass(slots=True)
class Pipeline:
    """A pipeline and its storage; `reads` are written `orders` for a batch read, `orders*` for a stream.

    `orders__quarantine` is a read of what the table `orders` puts aside.
    """

    tables: dict[Identifier, StreamingTable | MaterializedView] = field(default_factory=dict)
    views: dict[Identifier, ResolvedView] = field(default_factory=dict)
    flows: list[ResolvedFlow] = field(default_factory=list)
    stored: dict[Identifier, TableState] = field(default_factory=dict)
    done_once: set[tuple[Identifier, str]] = field(default_factory=set)
    checkpoints: dict[Identifier, int] = field(default_factory=dict)
    sinks: dict[Identifier, FormatSink] = field(default_factory=dict)
    promises: dict[Identifier, str] = field(default_factory=dict)
    last: dict[Identifier, RefreshRecord] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    undeclared: tuple[Identifier, ...] = ()
    schemas: dict[Identifier, Schema] = field(default_factory=dict)
    streams: dict[tuple[Identifier, str], StreamDefinition | None] = field(default_factory=dict)
    sizes: dict[tuple[Identifier, str], StateSize] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    warnings: tuple[PenstockError, ...] = ()

    def stream(
        self,
        name: str,
        *reads: str,
        properties: Mapping[str, str] | None = None,
        stateful: tuple[str, ...] = (),
        watermark: tuple[str, str] | None = None,
        complete: bool = False,
        private: bool = False,
        quarantines: bool = False,
    ) -> Pipeline:
        """Declares a streaming table with the flow of its own name; without reads, it reads Kafka."""
        rule = Expectation("positive", "id > 0", OnViolation.QUARANTINE, _PLACE)
        table = StreamingTable(
            identifier=_id(name),
            location=_PLACE,
            table_properties=properties or {},
            expectations=(rule,) if quarantines else (),
            temporary=private,
        )
        self.tables[table.identifier] = table
        kind = FlowType.COMPLETE if complete else FlowType.APPEND
        return self.flow(name, *reads, into=name, kind=kind, stateful=stateful, watermark=watermark)

    def materialized(
        self,
        name: str,
        *reads: str,
        properties: Mapping[str, str] | None = None,
        definition: QueryDefinition = QUERY,
        always: bool = False,
    ) -> Pipeline:
        """Declares a materialized view."""
        table = MaterializedView(
            identifier=_id(name),
            location=_PLACE,
            table_properties=properties or {},
            refresh_policy=RefreshPolicy.FULL if always else RefreshPolicy.AUTO,
        )
        self.tables[table.identifier] = table
        self.flow(name, *reads, into=name, kind=FlowType.MATERIALIZED_VIEW)
        self.flows[-1] = replace(self.flows[-1], definition=definition)
        return self

    def refreshed(
        self, name: str, definition: QueryDefinition = QUERY, *, exact: bool = False, **versions: str
    ) -> Pipeline:
        """Says from which versions of which tables the rows of a materialized view were computed."""
        inputs = {f"shop.{table}": version for table, version in versions.items()}
        self.last[_id(name)] = RefreshRecord(definition.fingerprint, inputs, exact)
        return self

    def now(self, **versions: str) -> Pipeline:
        """Says the present versions of tables."""
        self.versions |= {f"shop.{table}": version for table, version in versions.items()}
        return self

    def snapshots(self, name: str, *reads: str, applied: AppliedChanges) -> Pipeline:
        """Declares a streaming table with a flow of snapshots of its name."""
        table = StreamingTable(identifier=_id(name), location=_PLACE)
        self.tables[table.identifier] = table
        flow = SnapshotChangeFlow(
            name=name, target=table.identifier, function=_nothing, location=_PLACE, keys=("id",), scd_type=1
        )
        kind = FlowType.SNAPSHOT_CHANGE
        self.flows.append(ResolvedFlow(flow, kind, _SCHEMA, streaming=False, inputs=_inputs(reads), changes=applied))
        return self

    def changes(
        self,
        name: str,
        *reads: str,
        applied: AppliedChanges,
        once: bool = False,
        events: Schema | None = None,
    ) -> Pipeline:
        """Declares a streaming table with a change flow of its name; `events` are the columns of what it reads."""
        table = StreamingTable(identifier=_id(name), location=_PLACE)
        self.tables[table.identifier] = table
        flow = ChangeFlow(
            name=name,
            target=table.identifier,
            function=_nothing,
            location=_PLACE,
            once=once,
            keys=("id",),
            sequence_by="at",
        )
        kind = FlowType.CHANGE
        definition = None if once else StreamDefinition()
        self.flows.append(
            ResolvedFlow(
                flow, kind, _SCHEMA, not once, _inputs(reads), changes=applied, stream=definition, judged=events
            )
        )
        return self

    def view(self, name: str, *reads: str) -> Pipeline:
        """Declares a view."""
        declared = TemporaryView(identifier=_id(name), location=_PLACE, function=_nothing)
        inputs = _inputs(reads)
        self.views[declared.identifier] = ResolvedView(declared, _SCHEMA, inputs[0].streaming, inputs)
        return self

    def sink(self, name: str, *reads: str) -> Pipeline:
        """Declares a sink with one append flow of the same name."""
        self.sinks[_id(name)] = FormatSink(identifier=_id(name), location=_PLACE, format="noop")
        return self.flow(name, *reads, into=name)

    def flow(
        self,
        name: str,
        *reads: str,
        into: str,
        kind: FlowType = FlowType.APPEND,
        stateful: tuple[str, ...] = (),
        watermark: tuple[str, str] | None = None,
    ) -> Pipeline:
        """Adds a flow to a declared table."""
        once = kind is FlowType.APPEND_ONCE
        flow = UnresolvedFlow(name=name, target=_id(into), function=_nothing, location=_PLACE, once=once)
        streaming = kind in {FlowType.APPEND, FlowType.COMPLETE}
        definition = StreamDefinition() if streaming else None
        self.flows.append(
            ResolvedFlow(flow, kind, _SCHEMA, streaming, _inputs(reads), stateful, watermark, stream=definition)
        )
        return self

    def runs(self, name: str, now: StreamDefinition, *, noted: StreamDefinition | None = None) -> Pipeline:
        """Says what the flow into a table or sink is made of now, and what its checkpoint was made with."""
        [position] = [number for number, flow in enumerate(self.flows) if flow.declaration.target == _id(name)]
        flow = self.flows[position] = replace(self.flows[position], stream=now)
        self.streams[_id(name), flow.declaration.name] = noted
        return self

    def existing(self, *names: str, generation: int = 0, kind: str | None = None) -> Pipeline:
        """Says that tables are stored, as the last run left them; without names, all of them."""
        for name in names or [identifier.name for identifier in self.tables]:
            table = self.tables[_id(name)]
            own = "STREAMING_TABLE" if isinstance(table, StreamingTable) else "MATERIALIZED_VIEW"
            properties = {**table.table_properties, DATASET_TYPE: kind or own, GENERATION: str(generation)}
            self.stored[_id(name)] = TableState(f"/lake/{name}", _SCHEMA, 7, properties)
            self.checkpoints[_id(name)] = generation
        return self

    @property
    def graph(self) -> ResolvedGraph:
        """The resolved graph, in the order of declaration."""
        order = tuple(dict.fromkeys([*self.views, *self.tables]))
        schemas = dict.fromkeys(order, _SCHEMA) | self.schemas
        flows = tuple(self.flows)
        return ResolvedGraph(
            self.tables, self.views, flows, order, schemas, self.warnings, sinks=self.sinks, promises=self.promises
        )

    def plan(
        self,
        *,
        refresh: tuple[str, ...] = (),
        full_refresh: tuple[str, ...] = (),
        everything: bool = False,
        overlap: bool = True,
    ) -> UpdatePlan:
        """Plans an update."""
        graph = self.graph
        chosen = RefreshSelection(refresh, full_refresh, everything).resolve(graph, default_schema="shop")
        paths = {identifier: f"/lake/{identifier.name}" for identifier in self.tables}
        state = StateSnapshot(
            self.stored,
            paths,
            frozenset(self.done_once),
            self.checkpoints,
            undeclared=self.undeclared,
            refreshed=self.last,
            versions=self.versions,
            streams=self.streams,
            state_size=lambda *flow: self.sizes.get(flow),
            table_rows=lambda table: self.rows.get(table.name),
        )
        return plan_update(graph, state, chosen, overlap=overlap)


def _inputs(reads: tuple[str, ...]) -> tuple[Input, ...]:
    if not reads:
        return (Input("kafka", "orders", streaming=True, name="kafka_orders"),)
    found = []
    for read in reads:
        name, streaming = read.rstrip("*"), read.endswith("*")
        if ":" in name:
            source, _, description = name.partition(":")
            found.append(Input(source, description, streaming))
        else:
            owner = owner_of(_id(name))
            found.append(
                Input("delta", f"shop.{name}", streaming, dataset=owner or _id(name), from_quarantine=owner is not None)
            )
    return tuple(found)


@pytest.fixture
def pipeline() -> Pipeline:
    """An empty pipeline over an empty storage."""
    return Pipeline()
