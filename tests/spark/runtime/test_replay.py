"""Rows that go from quarantine into their table: each once, whatever dies on the way."""

from __future__ import annotations

from typing import Any

import pytest
from delta.tables import DeltaTable as SparkDeltaTable
from deltalake import DeltaTable
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import ConfigError, ExternalError, StateError
from penstock.observe.status.pipeline_status import project_status
from penstock.runtime.commands.replay import ReplayOutcome, replay_quarantine
from penstock.spark.writers.quarantine_replay import QuarantineReplay
from penstock.storage import LockOwner, StorageLock

PIPELINE = """
@dlt.table
@dlt.expect("large", "amount > 50")
@dlt.expect_or_drop("named", "name <> ''")
@dlt.expect_or_quarantine("positive", "amount > 0")
@dlt.expect_or_fail("possible", "amount > -1000")
@dlt.expect_unique("id", action="quarantine")
def orders():
    return spark.readStream.schema("id LONG, amount LONG, name STRING").json("in")

@dlt.table
def copy():
    return dlt.read_stream("orders")
"""
OTHERS = """
@dlt.table
@dlt.expect_or_quarantine("few", "n < 0")
def totals():
    return dlt.read("orders").agg(F.count("*").alias("n"))

@dlt.view
@dlt.expect_or_quarantine("few", "id < 0")
def seen():
    return dlt.read_stream("orders")

@dlt.view
def current():
    return spark.read.schema("id LONG, amount LONG").json("in")

dlt.create_streaming_table("mirror")
dlt.apply_changes_from_snapshot("mirror", "current", keys=["id"], stored_as_scd_type=1)

@ps.table(output_mode="update")
@ps.expect_or_quarantine("few", "count < 3")
def counts():
    return spark.readStream.schema("id LONG").json("in").groupBy("id").count()
"""
ROWS: list[dict[str, Any]] = [
    {"id": 1, "amount": 5, "name": "Ann"},
    {"id": 2, "amount": -5, "name": "Ann"},
    {"id": 3, "amount": -6, "name": ""},
    {"id": 4, "amount": -7, "name": "Zoë"},
    {"id": 5, "amount": -8, "name": "Zoë"},
    {"id": 1, "amount": 9, "name": "Ann"},
    {"id": 6, "amount": 1, "name": ""},
]


def _replay(project: PipelineProject, table: str = "orders", where: str | None = None) -> ReplayOutcome:
    return replay_quarantine(project.config, table, where=where, progress=lambda _: None, spark=project.spark)


def _aside(project: PipelineProject) -> dict[int, list[str]]:
    rows = read_table(project.path("orders__quarantine"))
    assert all(row["_quarantine_replay"] is None for row in rows)
    return {row["id"]: row["_quarantine_rules"] for row in rows}


def _dies(*_: Any) -> None:
    raise SystemError("the process dies here")


def _repair(project: PipelineProject, predicate: str, **updates: str) -> None:
    DeltaTable(project.path("orders__quarantine")).update(updates=updates, predicate=predicate)


# Slow: rows that nobody repaired are among those of the next replay too.
@pytest.mark.parametrize(
    "too_early",
    [pytest.param(True, id="and before a repair", marks=pytest.mark.slow), pytest.param(False, id="repaired")],
)
def test_repaired_rows_move_once_and_the_others_stay(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch, too_early: bool
) -> None:
    project.write(PIPELINE)
    project.arrive("1", ROWS)
    assert project.run().errors == ()
    assert project.rows("orders", "id") == [1]
    assert _aside(project) == {
        1: ["unique id"],
        2: ["positive"],
        3: ["named", "positive"],
        4: ["positive"],
        5: ["positive"],
    }

    if too_early:
        outcome = _replay(project)
        assert (outcome.replayed, outcome.remaining) == (0, 5), "nothing was repaired"
    _repair(project, "id in (2, 3)", amount="-amount")
    _repair(project, "id = 4", amount="-2000")
    outcome = _replay(project, where="id <> 5")
    assert (outcome.replayed, outcome.remaining) == (1, 4)
    assert project.rows("orders", "id", "amount") == [(1, 9), (2, 5)]
    assert _aside(project) == {1: ["unique id"], 3: ["named"], 4: ["positive", "possible"], 5: ["positive"]}

    # Another rule is another way to repair; a replay that dies at any point is repeated without loss.
    project.write(PIPELINE.replace("amount > 0", "amount > -10"))
    for owner, step, written in ((QuarantineReplay, "_move", [1, 2]), (SparkDeltaTable, "delete", [1, 2, 5])):
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, _dies)
            with pytest.raises(ExternalError):
                _replay(project)
        assert project.rows("orders", "id") == written
    again = _replay(project)
    assert (again.replayed, again.remaining) == (1, 3)
    assert project.rows("orders", "id") == [1, 2, 5]
    assert set(_aside(project)) == {1, 3, 4}

    status = project_status(project.events()).dataset("shop.orders")
    assert status is not None
    assert (status.rows, status.quarantined, status.dropped) == (3, 3, 1)
    assert status.status is not None
    assert status.status.value == "COMPLETED"
    assert project.run(refresh=("copy",)).errors == ()
    assert project.rows("copy", "id") == [1, 2, 5]


@pytest.mark.slow
def test_what_cannot_be_replayed_is_refused(project: PipelineProject) -> None:
    project.write(PIPELINE + OTHERS)
    project.arrive("1", ROWS)
    found = {}
    for table in ("copy", "totals", "seen", "mirror", "counts", "orders"):
        with pytest.raises(ConfigError) as refused:
            _replay(project, table)
        found[table] = refused.value.condition
    assert found == {
        "copy": "QUARANTINE_NOT_FOUND",
        "totals": "QUARANTINE_NOT_REPLAYABLE",
        "seen": "QUARANTINE_NOT_REPLAYABLE",
        "mirror": "QUARANTINE_NOT_REPLAYABLE",
        "counts": "QUARANTINE_NOT_REPLAYABLE",
        "orders": "QUARANTINE_NOT_FOUND",
    }
    assert project.run(refresh=("orders",)).errors == ()
    with pytest.raises(ConfigError) as refused:
        _replay(project, where="amuont > 0")
    assert refused.value.condition == "REPLAY_CONDITION_INVALID"
    assert refused.value.facts["condition"] == "amuont > 0"
    with StorageLock(project.config.storage, LockOwner.current()), pytest.raises(StateError) as locked:
        _replay(project)
    assert locked.value.exit_code == 3
