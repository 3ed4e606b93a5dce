"""What applies the events of a change flow to its target."""

from __future__ import annotations

from dataclasses import replace

from penstock.events import BatchProgress
from penstock.graph.companions.quarantine import quarantine_path
from penstock.graph.elements import TOMBSTONE_SECONDS, ChangeFlow
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.plan.stages import RunOnceFlow, RunStreamingFlow
from penstock.runtime.flows.services import FlowQueries, FlowQuery
from penstock.spark.writers.changes.log import ChangeLog
from penstock.spark.writers.changes.merge import MergedRows
from penstock.spark.writers.changes.writer import ChangeWriter
from penstock.spark.writers.checking_writer import CheckingWriter
from penstock.storage import StorageLayout

_TWO_DAYS = 2 * 24 * 60 * 60


def applying_changes(
    stage: RunStreamingFlow | RunOnceFlow, flow: ChangeFlow, services: FlowQueries, query: FlowQuery
) -> CheckingWriter:
    """Returns the writer of a change flow's `query`; called for each start of it."""
    assert query.checking is not None, "a table of change flows has a quarantine"
    changes = change_writer(
        stage.flow, flow, services.graph, services.layout, path=stage.path, generation=stage.generation
    )
    return replace(query.checking, apply=changes.apply)


def change_writer(
    resolved: ResolvedFlow, flow: ChangeFlow, graph: ResolvedGraph, layout: StorageLayout, *, path: str, generation: int
) -> ChangeWriter:
    """Returns what applies the events of `flow` to its target, which lies at `path`."""
    target = flow.target
    applied = resolved.changes
    assert applied is not None, "a change flow is resolved with what it applies"
    others = [each.declaration for each in graph.flows_to(target)]
    return ChangeWriter(
        flow=flow,
        path=path,
        log=ChangeLog(
            layout.change_log(target, generation),
            quarantine_path(path),
            keeps_rows=applied.keeps_rows,
            tombstone_seconds=int(graph.tables[target].table_properties.get(TOMBSTONE_SECONDS, _TWO_DAYS)),
        ),
        truncates=any(isinstance(each, ChangeFlow) and each.apply_as_truncates is not None for each in others),
    )


def with_changes(progress: BatchProgress, merged: MergedRows) -> BatchProgress:
    """Adds to the numbers of a batch what its MERGE did."""
    return replace(progress, num_upserted_rows=merged.inserted + merged.updated, num_deleted_rows=merged.deleted)


def with_merged(progress: BatchProgress, checking: CheckingWriter | None, batch_id: int) -> BatchProgress:
    """Adds to the numbers of a batch what its MERGE did, if there was one."""
    merged = None if checking is None else checking.take_merged(batch_id)
    return progress if merged is None else with_changes(progress, merged)
