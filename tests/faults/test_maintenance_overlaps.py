"""OPTIMIZE and VACUUM beside running flows, again and again: no flow fails, waits for a retry, or loses a row.

FAULT_OVERLAPS says how many tasks of maintenance must have worked while a batch of the same table did.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.cli_runner import running
from tests.faults.evidence import write_evidence
from tests.faults.table import RecordProperty

from penstock.events import Event, EventReader, EventType

_OVERLAPS = int(os.environ.get("FAULT_OVERLAPS", "40"))
_ROWS = 50
_TABLES = ("bronze", "silver", "copy")
_SETTINGS = """
name: overlaps
schema: shop
trigger: 3 seconds  # batches without a pause would leave maintenance little of two cores
maintenance: {interval: 1 second}
"""
_PIPELINE = f"""
import dlt
import penstock as ps

# With Z-order each look at a changed table rewrites it; without retention each VACUUM has files to delete.
ARRANGED = {{"pipelines.autoOptimize.zOrderCols": "value", "delta.deletedFileRetentionDuration": "interval 0 seconds"}}

@dlt.table(table_properties=ARRANGED)
def bronze():
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", {_ROWS}).load()

@dlt.table(table_properties=ARRANGED)
@ps.expect_or_quarantine("not the third", "value % 3 <> 0")
def silver():
    return dlt.read_stream("bronze")

@dlt.table(table_properties=ARRANGED)
def copy():
    return dlt.read_stream("bronze")
"""


@dataclass(slots=True)
class _Seen:
    """What an event log tells of batches and maintenance; times in seconds since 1970, by table."""

    batches: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    tasks: list[tuple[str, float, float]] = field(default_factory=list)
    rewrites: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, event: Event) -> None:
        ended, table = event.timestamp.timestamp(), str(event.origin.dataset_name).removeprefix("shop.")
        if event.error is not None or "tries again" in event.message:
            self.wrong.append(event.message)
        elif event.event_type is EventType.MAINTENANCE_PROGRESS:
            done = event.details["maintenance_progress"]
            self.tasks.append((table, ended - done["duration_ms"] / 1000, ended))
            self.rewrites += bool(done["files_removed"])
        elif metrics := event.details.get("flow_progress", {}).get("metrics"):
            self.batches.setdefault(table, []).append((ended - metrics["batch_duration_ms"] / 1000, ended))

    def overlaps(self) -> int:
        """Counts the tasks during which a batch of the same table was at work."""
        return sum(
            any(begun < ended and start < end for start, end in self.batches.get(table, ()))
            for table, begun, ended in self.tasks
        )


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_maintenance_and_flows_never_mind_each_other(tmp_path: Path, record_property: RecordProperty) -> None:
    (tmp_path / "penstock.yml").write_text(_SETTINGS)
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    seen = _Seen()
    log = EventReader(str(tmp_path / ".penstock"))

    def enough() -> bool:
        for event in log.poll():
            seen.add(event)
        return bool(seen.wrong) or (len(seen.tasks) >= _OVERLAPS and seen.overlaps() >= _OVERLAPS)

    with running("run", tmp_path, "--continuous") as command:
        command.wait_for(enough, what=f"{_OVERLAPS} overlaps", timeout=7000)
        command.signal(signal.SIGINT)
        command.wait().expect(0)
    record_property("overlaps", seen.overlaps())
    record_property("conflicts", len(seen.wrong))
    assert seen.wrong == []
    bronze = _values(tmp_path, "bronze")
    assert bronze == list(range(len(bronze)))
    assert len(bronze) % _ROWS == 0
    copied = _values(tmp_path, "copy")
    assert copied == bronze[: len(copied)]
    judged = sorted([*_values(tmp_path, "silver"), *_values(tmp_path, "silver__quarantine")])
    assert judged == bronze[: len(judged)]
    batches = sum(map(len, seen.batches.values()))
    write_evidence(
        "maintenance-overlaps",
        {"overlaps": seen.overlaps(), "tasks": len(seen.tasks), "rewrites": seen.rewrites, "batches": batches,
         "rows": len(bronze), "conflicts": len(seen.wrong)},
    )  # fmt: skip


def _values(project: Path, table: str) -> list[int]:
    stored = DeltaTable(str(project / ".penstock" / "tables" / "shop" / table))
    values: list[int] = stored.to_pyarrow_table(columns=["value"])["value"].to_pylist()  # type: ignore[assignment]
    return sorted(values)
