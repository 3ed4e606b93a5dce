"""A join of two streams without a bound of their times runs as on Databricks, with the size of its state told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.projected import projected
from tests.spark.pipeline_project import PipelineProject

from penstock.care.doctor.examination import examine
from penstock.cli.screen.status_view import problems
from penstock.observe.lineage import LineageProjection
from penstock.observe.problems import find_problems
from penstock.observe.severity import Severity
from penstock.observe.status.pipeline_status import PipelineStatus, project_status
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update

CONDITION = "STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND"
CODE = """
@dp.table
def orders():
    return spark.readStream.schema("id LONG, customer STRING").json("in")

@dp.table
def payments():
    return spark.readStream.schema("order_id LONG, amount LONG").json("paid")

@dp.table
def paid_orders():
    orders, payments = spark.readStream.table("orders"), spark.readStream.table("payments")
    return orders.join(payments, F.expr("id = order_id"))
"""


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> PipelineProject:
    found = PipelineProject(tmp_path, spark)
    found.write(CODE)
    found.arrive("1", [{"id": each, "customer": "c"} for each in range(4)])
    found.arrive("1", [{"order_id": 1, "amount": 10}, {"order_id": 7, "amount": 70}], "paid")
    return found


def status_of(project: PipelineProject) -> PipelineStatus:
    return project_status(project.events())


def planned(project: PipelineProject) -> str:
    plan = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    [warning] = [each for each in plan.warnings if each.condition == CONDITION]
    return warning.message.partition("may still arrive. ")[2]


def test_rows_find_their_partners_however_late_and_the_size_is_told(project: PipelineProject) -> None:
    assert planned(project) == "It grows with every row."
    assert project.run(refresh=("orders", "payments")).errors == ()
    assert planned(project) == (
        "It begins with the 4 rows of shop.orders (about 40 bytes each) and the 2 rows of shop.payments "
        "(about 24 bytes each), 0.0 MB, and grows with every row."
    )
    assert project.run().errors == ()
    assert project.rows("paid_orders", "id", "amount") == [(1, 10)]

    project.arrive("2", [{"id": 7, "customer": "late"}])
    project.arrive("2", [{"order_id": 2, "amount": 20}, {"order_id": 1, "amount": 11}], "paid")
    second = project.run()
    assert second.errors == ()
    assert project.rows("paid_orders", "id", "amount") == [(1, 10), (1, 11), (2, 20), (7, 70)]
    assert project.rows("paid_orders", "customer") == ["c", "c", "c", "late"]

    warned = [each.error for each in project.events(second) if each.error is not None]
    assert [(each["condition"], each["file"]) for each in warned] == [(CONDITION, "pipeline.py")]
    assert planned(project).startswith("It has 9 rows of state, ")
    assert planned(project).endswith(" MB in memory, 3 more with the last batch.")
    _is_told_everywhere(project)


def _is_told_everywhere(project: PipelineProject) -> None:
    status, size = status_of(project), planned(project)
    told = status.dataset("shop.paid_orders")
    assert told is not None
    assert told.state_warning is not None
    assert told.state_warning["message"].endswith(size)
    [problem] = find_problems(status, projected(LineageProjection(), project.events()).lineage())
    assert (problem.severity, problem.condition) == (Severity.WARNING, CONDITION)
    [lines] = problems(status)
    assert lines[0].endswith(size)
    [finding] = examine(project.config.storage).findings
    assert finding.error is not None
    assert (finding.condition, finding.error.message) == (CONDITION, told.state_warning["message"])
    assert finding.error.location is not None


def test_an_update_whose_flow_allows_it_ends_the_warning(project: PipelineProject) -> None:
    assert project.run().errors == ()
    assert status_of(project).dataset("shop.paid_orders").state_warning is not None  # type: ignore[union-attr]
    allowed = '@dp.table(spark_conf={"pipelines.unboundedState.allowed": "true"})\ndef paid_orders'
    project.write(CODE.replace("@dp.table\ndef paid_orders", allowed))
    assert project.run().errors == ()
    assert status_of(project).dataset("shop.paid_orders").state_warning is None  # type: ignore[union-attr]
    assert examine(project.config.storage).findings == ()


def test_a_strict_pipeline_is_refused(project: PipelineProject) -> None:
    project.settings["strict"] = "true"
    assert [each.condition for each in project.validate().errors] == [CONDITION]
