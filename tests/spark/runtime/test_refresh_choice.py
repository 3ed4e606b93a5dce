"""With `refresh_policy` auto, what refreshes of the view have taken decides how the next one is done."""

from __future__ import annotations

import json
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.events import RefreshChoice, RefreshMethod
from penstock.events.flows.refresh import refresh_choice_of
from penstock.events.flows.refresh_costs import NOTHING_MEASURED, RefreshHistory
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import RefreshMaterializedView
from penstock.runtime.project.workspace import Workspace, say_nothing
from penstock.runtime.storage_state.refresh_notes import last_refresh
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.plans.row_difference import compare_rows

SHOP = """
@dlt.table
def orders():
    return spark.readStream.schema("id LONG, kind STRING, amount DECIMAL(10,2)").json("in")

"""
CREATE = """CREATE MATERIALIZED VIEW sums AS
SELECT kind, sum(amount) AS amount, count(*) AS orders FROM orders GROUP BY kind"""
FULL, MERGED = RefreshMethod.FULL, RefreshMethod.MERGE_GROUPS


@pytest.fixture(autouse=True)
def _by_what_has_changed() -> None:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")


def _rows(first: int, last: int) -> list[dict[str, Any]]:
    return [{"id": n, "kind": f"kind {n * 7919 % 97}", "amount": n % 1000} for n in range(first, last)]


def _refresh(project: PipelineProject, spark: SparkSession, arrival: str, first: int, last: int) -> RefreshChoice:
    """Runs the pipeline over new rows, and compares the view with its query; returns how it was refreshed."""
    project.arrive(arrival, _rows(first, last))
    update = project.run()
    assert update.errors == ()
    [choice] = [found for event in project.events(update) if (found := refresh_choice_of(event)) is not None]
    orders = spark.read.format("delta").load(str(project.path("orders")))
    query = "SELECT kind, sum(amount) amount, count(*) orders FROM {orders} GROUP BY kind"
    view = spark.read.format("delta").load(str(project.path("sums")))
    assert compare_rows(view, spark.sql(query, orders=orders), limit=5).same
    return choice


def _history(project: PipelineProject) -> RefreshHistory:
    record = last_refresh(DeltaTable(str(project.path("sums"))))
    assert record is not None
    return record.history


def _note_that_it_took(project: PipelineProject, spark: SparkSession, **seconds: float) -> None:
    """Commits the last note again, with other seconds of the refreshes so far, as a slower machine would have had."""
    path = str(project.path("sums"))
    notes = (commit.get("userMetadata") for commit in DeltaTable(path).history())
    note = json.loads(next(each for each in notes if each))["penstock.refresh"]
    taken, history = _history(project), NOTHING_MEASURED
    for each in taken.measures:
        took = seconds[each.method.name.lower()]
        for _ in range(1 if each.method is FULL else 3):  # fewer are not judged by
            history = history.with_measure(each.method, took, each.work, each.changed)
    del note["began"]
    own = spark.newSession()
    note["history"] = history.to_json()
    own.conf.set("spark.databricks.delta.commitInfo.userMetadata", json.dumps({"penstock.refresh": note}))
    own.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('slower' = '{len(history.measures)}')")


def _explanation(project: PipelineProject, spark: SparkSession) -> str:
    workspace = Workspace.open(project.config, say_nothing, spark=spark)
    plan = workspace.plan(workspace.resolve(say_nothing), RefreshSelection())
    [stage] = [each for each in plan.stages if isinstance(each, RefreshMaterializedView)]
    return stage.explanation


def test_what_was_measured_decides(project: PipelineProject, spark: SparkSession) -> None:
    project.write(SHOP)
    (project.directory / "views.sql").write_text(CREATE)
    first = _refresh(project, spark, "1", 0, 20)
    assert (first.method, first.why) == (FULL, "there is no refresh to go on from")

    most = _refresh(project, spark, "2", 20, 20000)
    assert most.method is FULL
    assert most.why.endswith("% of what it reads has changed"), "nothing is known of the other method"

    few = _refresh(project, spark, "3", 20000, 20001)
    assert (few.method, few.why) == (MERGED, "merge groups was measured 0 of 3 times")
    assert few.measured.keys() == {FULL}
    assert [each.method for each in _history(project).measures] == [FULL, FULL, MERGED]
    assert all(0 < each.seconds < 120 for each in _history(project).measures)

    _note_that_it_took(project, spark, full=1.0, merge_groups=1.0)
    again = _refresh(project, spark, "4", 20001, 20002)
    assert again.method is FULL
    assert again.why.startswith("it is measured again: full is estimated to take 1.0 s, merge groups 1.0 s")

    _note_that_it_took(project, spark, full=2.0, merge_groups=30.0)
    slower = _refresh(project, spark, "5", 20002, 20003)
    assert slower.method is FULL
    assert slower.why.startswith("full is estimated to take 2.")
    assert slower.estimated[MERGED] == pytest.approx(30, abs=1)
    assert slower.estimated.keys() == slower.measured.keys() == {FULL, MERGED}
    assert slower.measured[MERGED] == 30.0

    _note_that_it_took(project, spark, full=60.0, merge_groups=1.0)
    explanation = _explanation(project, spark)
    assert "or in full, whichever is estimated to be quicker" in explanation
    assert "merge groups took 1.0 s" in explanation
    assert "full took 60.0 s" in explanation
    quicker = _refresh(project, spark, "6", 20003, 60000)
    assert quicker.changed_share is not None
    assert quicker.changed_share > 0.5, "above the threshold that holds without measures"
    assert quicker.method is MERGED
    assert quicker.why.startswith("merge groups is estimated to take")
