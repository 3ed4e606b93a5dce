"""Pipelines for the checks: facts as they would be read, without a storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.care.doctor.checklist import CheckResult, Status, checklist
from penstock.care.doctor.examination import findings_of
from penstock.care.doctor.facts import StorageFacts, read_facts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.doctor.tables import TableFacts
from penstock.events import BatchProgress, UpdateState
from penstock.events.types import CheckpointedBatch, OperatorState
from penstock.graph.identifier import Identifier
from penstock.observe.flows.definitions import FlowDefinition
from penstock.observe.flows.history import Batch, FlowHistory, PipelineHistory
from penstock.observe.status.pipeline_status import PipelineStatus
from penstock.observe.status.updates import UpdateStatus
from penstock.observe.stored.tables import StoredTable

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SETTINGS = SettingsFacts("penstock.yml", "local[2]", True, 2, "available_now", False, False, None)
CLUSTER = replace(SETTINGS, master="spark://head:7077", local=False, cores=None)
CONTINUOUS = replace(SETTINGS, trigger="processing_time 10 seconds", continuous=True, interval=10.0)


def batches(*progress: BatchProgress, executors: Iterable[int | None] = (), update: str = "u") -> tuple[Batch, ...]:
    """Batches ten seconds after one another, the last one now."""
    sizes = list(executors) or [None] * len(progress)
    first = NOW - timedelta(seconds=10 * len(progress))
    return tuple(
        Batch(first + timedelta(seconds=10 * (at + 1)), update, each, size)
        for at, (each, size) in enumerate(zip(progress, sizes, strict=True))
    )


def batch(
    batch_id: int = 0, *, rows: int = 100, took: int = 1000, adding: int | None = None, **more: Any
) -> BatchProgress:
    """A batch of `rows`, of `took` milliseconds, `adding` of them for the rows themselves."""
    phases = {"addBatch": took * 9 // 10 if adding is None else adding}
    rate = 1000 * rows / took
    given = {"input_rows_per_second": rate, "processed_rows_per_second": rate, **more}
    return BatchProgress(batch_id, rows, rows, batch_duration_ms=took, phases_ms=phases, **given)


def ten(**of_each: Any) -> tuple[Batch, ...]:
    return batches(*(batch(number, **of_each) for number in range(10)))


def flow(made: tuple[Batch, ...] = (), **definition: Any) -> FlowHistory:
    given = {"dataset": "shop.orders", "flow": "orders", "flow_type": "append", **definition}
    return FlowHistory(FlowDefinition(**given), made)


def checkpoint(query_id: str = "q", **settings: str) -> CheckpointedBatch:
    return CheckpointedBatch(query_id, {}, {key.replace("__", "."): value for key, value in settings.items()})


def state(rows: int, removed: int = 0, size: int = 1000) -> dict[str, Any]:
    operator = OperatorState("stateStoreSave", rows, size, 1, removed)
    return {"state_rows": rows, "state_bytes": size, "state_operators": (operator,)}


def update(
    started: datetime = NOW - timedelta(hours=1),
    ended: datetime = NOW,
    state: UpdateState = UpdateState.COMPLETED,
    **more: Any,
) -> UpdateStatus:
    return UpdateStatus("u", "shop", state, started, ended, ended, **more)


def table(name: str = "orders", **facts: Any) -> TableFacts:
    return TableFacts(StoredTable(Identifier("shop", name), f"memory://lake/{name}"), **facts)


def history(*flows: FlowHistory, **more: Any) -> PipelineHistory:
    return PipelineHistory(**{"status": PipelineStatus(None, ()), "updates": (update(),), "flows": flows, **more})


def facts(*flows: FlowHistory, settings: SettingsFacts | None = SETTINGS, **more: Any) -> StorageFacts:
    """A storage that is not on a disk, with one update and these flows."""
    nothing = read_facts("memory://lake-without-anything", settings)
    return replace(nothing, **{"history": history(*flows), "now": NOW, **more})


def result(given: StorageFacts, rule: str) -> CheckResult:
    [found] = [each for each in checklist(given, findings_of(given)) if each.rule.name == rule]
    return found


def status(given: StorageFacts, rule: str) -> Status:
    return result(given, rule).status
