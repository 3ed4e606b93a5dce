"""What applies the events of a change flow to its target."""

from __future__ import annotations

from dataclasses import replace

from penstock.events import BatchProgress
from penstock.graph.elements import TOMBSTONE_SECONDS, ChangeFlow
from penstock.plan.stages import RunOnceFlow, RunStreamingFlow
from penstock.runtime.services import FlowQuery, FlowServices
from penstock.spark.changes.log import ChangeLog
from penstock.spark.changes.writer import ChangeWriter
from penstock.spark.checking_writer import CheckingWriter

_TWO_DAYS = 2 * 24 * 60 * 60


def applying_changes(
    stage: RunStreamingFlow | RunOnceFlow, flow: ChangeFlow, services: FlowServices, query: FlowQuery
) -> CheckingWriter:
    """Returns the writer of a change flow's `query`; called for each start of it."""
    identifier = stage.dataset
    flows = [each.flow for each in services.graph.flows_to(identifier)]
    applied = stage.flow.changes
    assert applied is not None, "a change flow is resolved with what it applies"
    assert query.checking is not None, "a table of change flows has a quarantine"
    properties = services.graph.tables[identifier].table_properties
    changes = ChangeWriter(
        flow=flow,
        path=stage.path,
        log=ChangeLog(
            services.layout.change_log(identifier, stage.generation),
            keeps_rows=applied.keeps_rows,
            tombstone_seconds=int(properties.get(TOMBSTONE_SECONDS, _TWO_DAYS)),
        ),
        truncates=any(isinstance(each, ChangeFlow) and each.apply_as_truncates is not None for each in flows),
    )
    return replace(query.checking, apply=changes.apply)


def with_merged(progress: BatchProgress, checking: CheckingWriter | None, batch_id: int) -> BatchProgress:
    """Adds to the numbers of a batch what its MERGE did, if there was one."""
    merged = None if checking is None else checking.take_merged(batch_id)
    if merged is None:
        return progress
    return replace(progress, num_upserted_rows=merged.inserted + merged.updated, num_deleted_rows=merged.deleted)
