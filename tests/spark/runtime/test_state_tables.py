"""What stateful operators remember is readable as tables, and reading changes nothing."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.commands.checkpoints import state as command
from penstock.cli.main import app
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import RunStreamingFlow
from penstock.runtime import plan_update
from penstock.runtime.commands import state_tables
from penstock.runtime.commands.state_tables import read_state_tables

CODE = """
def arrived():
    return spark.readStream.schema("id LONG, at TIMESTAMP").json("in").withWatermark("at", "1 hour")

@dp.table
def hours():
    return arrived().groupBy(F.window("at", "1 hour").alias("hour")).count().select("hour.start", "count")

@dp.table(spark_conf={"pipelines.unboundedState.allowed": "true"})
def pairs():
    left, right = (arrived().dropDuplicates(["id"]).alias(side) for side in ("left", "right"))
    both = left.join(right, F.expr("left.id = right.id AND left.at <= right.at + INTERVAL 1 HOUR"))
    return both.select("left.id", F.col("right.at").alias("other"))

@dp.table
def plain():
    return arrived()
"""


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PipelineProject:
    project = PipelineProject(tmp_path_factory.mktemp("ran"), spark)
    project.write(CODE)
    project.arrive("1", [{"id": each % 4, "at": f"2026-01-01T00:{each:02d}:00Z"} for each in range(6)])
    assert project.run().errors == ()
    return project


@pytest.fixture(autouse=True)
def on_the_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "enter", lambda config: None)
    monkeypatch.setattr(state_tables, "read_state_tables", partial(read_state_tables, spark=spark))


def ask(project: PipelineProject, table: str, *options: str) -> Any:
    done = CliRunner().invoke(app, ["state", table, str(project.directory), "--json", *options])
    return json.loads(done.stdout)


def test_open_windows_with_their_values(ran: PipelineProject) -> None:
    told = ask(ran, "hours")
    [operator] = told["operators"]
    assert (told["table"], told["flow"], told["memory_bytes"] > 0) == ("shop.hours", "hours", True)
    assert (operator["operator"], operator["name"], operator["partitions"]) == (0, "stateStoreSave", 2)
    [part] = operator["parts"]
    assert (operator["rows"], part["rows"], part["part"]) == (1, 1, None)
    window = {"window.start": "2026-01-01T00:00:00", "window.end": "2026-01-01T01:00:00", "count": 6}
    assert part["first"] == [{**window, "partition_id": part["first"][0]["partition_id"]}]


def test_each_operator_and_each_side_of_a_join(ran: PipelineProject) -> None:
    operators = ask(ran, "pairs")["operators"]
    assert sorted(each["name"] for each in operators) == ["dedupe", "dedupe", "symmetricHashJoin"]
    [join] = [each for each in operators if each["name"] == "symmetricHashJoin"]
    assert [(part["part"], part["rows"]) for part in join["parts"]] == [("left", 4), ("right", 4)]
    assert sorted(row["id"] for row in join["parts"][0]["first"]) == [0, 1, 2, 3]
    seen = next(each["operator"] for each in operators if each["name"] == "dedupe")
    [chosen] = ask(ran, "pairs", "--operator", str(seen), "--limit", "3")["operators"]
    [part] = chosen["parts"]
    assert (chosen["operator"], part["rows"], len(part["first"])) == (seen, 4, 3)
    assert set(part["first"][0]) == {"id", "partition_id"}
    assert not list((ran.directory / ".penstock/scratch").iterdir())


def test_the_events_of_batches_tell_the_same(ran: PipelineProject) -> None:
    told: dict[str, list[dict[str, Any]]] = {}
    for event in ran.events():
        metrics = event.details.get("flow_progress", {}).get("metrics", {})
        if "state_operators" in metrics:
            told[str(event.origin.dataset_name)] = metrics["state_operators"]
    assert told.keys() == {"shop.hours", "shop.pairs"}
    for table, operators in told.items():
        kept = ask(ran, table)["operators"]
        assert sorted((each["name"], each["rows"]) for each in operators) == sorted(
            (each["name"], each["rows"]) for each in kept
        )
        assert all(each["bytes"] > 0 for each in operators)


def test_a_plan_tells_with_how_much_state_a_flow_goes_on(ran: PipelineProject) -> None:
    plan = plan_update(ran.config, RefreshSelection(), spark=ran.spark).plan
    told = {str(stage.dataset): stage.explanation for stage in plan.of_type(RunStreamingFlow)}
    assert "; 16 rows of state, " in told["shop.pairs"]
    assert "of state, " not in told["shop.plain"]


def test_people_see_tables(ran: PipelineProject) -> None:
    done = CliRunner().invoke(app, ["state", "hours", str(ran.directory)])
    assert done.exit_code == 0
    assert "state after batch" in done.stdout
    assert "window.start" in done.stdout


def test_what_is_not_there_is_said(ran: PipelineProject) -> None:
    assert ask(ran, "plain")["errors"][0]["condition"] == "STATE_NOT_KEPT"
    assert ask(ran, "hours", "--operator", "7")["errors"][0]["condition"] == "STATE_OPERATOR_NOT_FOUND"
