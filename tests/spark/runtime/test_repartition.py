"""State is divided into another number of partitions: no key is forgotten, whatever step the process dies at."""

from __future__ import annotations

import itertools
import json
import pkgutil
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.care.checkpoints.repartitioning import plan_repartition
from penstock.cli.commands.checkpoints.checkpoint_changes import alone
from penstock.cli.main import app
from penstock.errors import ExternalError, StateError
from penstock.runtime.commands.repartition import Repartitioned, repartition_state
from penstock.runtime.project.workspace import say_nothing
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.state import state_partitions

CODE = """
def arrived():
    return spark.readStream.schema("id LONG, at TIMESTAMP").json("in")

@dp.table(spark_conf={"spark.sql.shuffle.partitions": "3"})
def orders():
    return arrived().dropDuplicates(["id"])

@dp.table(spark_conf={"spark.sql.shuffle.partitions": "2"})
def hours():
    timed = arrived().withWatermark("at", "1 hour")
    return timed.groupBy(F.window("at", "1 hour").alias("hour")).count().select("hour.start", "count")

@dp.table(spark_conf={"spark.sql.shuffle.partitions": "2", "pipelines.unboundedState.allowed": "true"})
def pairs():
    left, right = (arrived().withWatermark("at", "1 hour").alias(side) for side in ("left", "right"))
    both = left.join(right, F.expr("left.id = right.id AND left.at <= right.at + INTERVAL 1 HOUR"))
    return both.select("left.id", F.col("right.at").alias("other"))
"""


class Died(BaseException):
    """The process was killed."""


def arrive(project: PipelineProject, number: int) -> None:
    """The ids of all earlier files and forty new ones, an hour later each time."""
    rows = [{"id": each, "at": f"2026-01-01T{number:02d}:00:00Z"} for each in range(40 * (number + 1))]
    project.arrive(str(number), rows)


def run(project: PipelineProject) -> None:
    assert project.run().errors == ()


def repartition(project: PipelineProject, flow: str, partitions: int) -> Repartitioned:
    with alone(project.config) as inventory:
        planned = plan_repartition(inventory, flow, partitions, default_schema="shop")
        return repartition_state(
            project.config,
            planned.checkpoint.folder,
            present=planned.present,
            partitions=partitions,
            flow=planned.checkpoint.name,
            dataset=str(planned.checkpoint.dataset),
            progress=say_nothing,
            spark=project.spark,
        )


def findings(project: PipelineProject) -> list[Any]:
    done = CliRunner().invoke(app, ["checkpoint", "verify", str(project.directory), "--json"])
    return list(json.loads(done.stdout)["findings"])


def checkpoint(project: PipelineProject, flow: str) -> CheckpointFolder:
    return CheckpointFolder.open(str(project.directory / f".penstock/checkpoints/shop/{flow}/{flow}/0"))


@pytest.mark.slow
def test_fewer_and_more_partitions_forget_nothing(project: PipelineProject) -> None:
    project.write(CODE)
    arrive(project, 0)
    arrive(project, 1)
    run(project)
    before, query_id = checkpoint(project, "orders").committed, checkpoint(project, "orders").query_id()
    done = repartition(project, "orders", 2)
    now = checkpoint(project, "orders")
    assert before is not None
    assert done.batch == now.committed == before + 1
    assert CheckpointFolder.open(str(done.kept)).query_id() == query_id != now.query_id()
    repartition(project, "hours", 5)
    repartition(project, "pairs", 3)
    assert findings(project) == []
    for number, flow, partitions in ((2, "orders", 5), (3, "hours", 1)):
        arrive(project, number)
        run(project)
        repartition(project, flow, partitions)
        assert findings(project) == []
    arrive(project, 4)
    run(project)
    assert findings(project) == []
    wanted = {"orders": 5, "hours": 1, "pairs": 3}
    assert {flow: state_partitions(checkpoint(project, flow).storage) for flow in wanted} == wanted
    assert project.rows("orders", "id") == list(range(200)), "each id once: the state knows all earlier ones"
    assert [count for _, count in project.rows("hours", "start", "count")] == [40, 80, 120]


KINDS = """
import pandas as pd

PARTS = {"spark.sql.shuffle.partitions": "2"}

def arrived(delay="1 hour"):
    return spark.readStream.schema("id LONG, at TIMESTAMP").json("in").withWatermark("at", delay)

@dp.table(spark_conf=PARTS)
def first_seen():
    return arrived("1 day").dropDuplicatesWithinWatermark(["id"])

@dp.table(spark_conf=PARTS)
def visits():
    by = F.session_window("at", "3 hours").alias("visit"), (F.col("id") % 3).alias("key")
    return arrived().groupBy(*by).count().select("key", "visit.start", "visit.end", "count")

@dp.table(spark_conf=PARTS)
def next_seen():
    left, right = arrived().alias("l"), arrived().where("id % 2 = 0").alias("r")
    soon = F.expr("l.id = r.id AND r.at BETWEEN l.at + INTERVAL 1 HOUR AND l.at + INTERVAL 3 HOURS")
    return left.join(right, soon, "left").select("l.id", "l.at", F.col("r.at").alias("again"))

@dp.table(spark_conf=PARTS)
def days():
    hours = arrived().groupBy(F.window("at", "1 hour")).count()
    return hours.groupBy(F.window("window", "1 day")).agg(F.sum("count").alias("count")).select("window.start", "count")

def counting(key, frames, state):
    seen = (state.get[0] if state.exists else 0) + sum(len(frame) for frame in frames)
    state.update((seen,))
    yield pd.DataFrame({"id": [key[0]], "seen": [seen]})

@dp.table(spark_conf=PARTS)
def counted():
    by_id = arrived().groupBy("id")
    return by_id.applyInPandasWithState(counting, "id LONG, seen LONG", "seen LONG", "append", "NoTimeout")

@dp.table(spark_conf=PARTS)
def total():
    return arrived().groupBy().count()

@dp.table(spark_conf=PARTS)
def some():
    return arrived().limit(25)
"""


@pytest.mark.slow
def test_each_kind_of_state_is_divided(project: PipelineProject) -> None:
    """Deduplication within a watermark, sessions, an outer join, an aggregate of an aggregate, state of one's own."""
    project.write(KINDS)
    for hour in (0, 2):
        project.arrive(
            str(hour), [{"id": each, "at": f"2026-01-01T{hour:02d}:00:00Z"} for each in range(5 * hour + 10)]
        )
    run(project)
    for undivided in ("total", "some"):
        with pytest.raises(StateError) as refused:
            repartition(project, undivided, 3)
        assert refused.value.condition == "CHECKPOINT_STATE_NOT_DIVISIBLE"
    for flow, partitions in (("first_seen", 3), ("visits", 1), ("next_seen", 3), ("days", 4), ("counted", 5)):
        repartition(project, flow, partitions)
    project.arrive("4", [{"id": each, "at": "2026-01-01T04:00:00Z"} for each in range(30)])
    project.arrive("later", [{"id": 0, "at": "2026-01-03T00:00:00Z"}])
    run(project)
    assert findings(project) == []
    assert project.rows("first_seen", "id") == list(range(30))
    assert project.rows("visits", "key", "count") == [(0, 21), (1, 20), (2, 19)]
    assert {(end - start).total_seconds() / 3600 for start, end in project.rows("visits", "start", "end")} == {7}
    again = project.rows("next_seen", "id", "again")
    assert len(again) == 10 + 20 + 30
    assert sorted(each for each, at in again if at is not None) == sorted([*range(0, 10, 2), *range(0, 20, 2)])
    assert project.rows("days", "count") == [60]
    assert project.rows("total", "count") == [61]
    assert len(project.rows("some", "id")) == 25
    assert dict(project.rows("counted", "id", "seen")) == {each: 4 - (each > 0) - each // 10 for each in range(30)}


ORDERS = """
@dp.table(spark_conf={"spark.sql.shuffle.partitions": "3"})
def orders():
    return spark.readStream.schema("id LONG").json("in").dropDuplicates(["id"])
"""
STEPS = {
    "before Spark": ("penstock.runtime.commands.repartition.divide_state", 1, "before", False),
    "after Spark": ("penstock.runtime.commands.repartition.complete_repartition", 1, "before", False),
    "while the rest is done": ("penstock.storage.checkpoint.partitions.begin_new_query", 1, "after", False),
    "before the renames": ("os.rename", 1, "before", True),
    "between the renames": ("os.rename", 1, "after", True),
    "after the renames": ("os.rename", 2, "after", True),
}
"""Before or after which call of what the process dies, and whether the next run goes on with the new checkpoint."""


@pytest.fixture
def one_flow(project: PipelineProject) -> PipelineProject:
    project.write(ORDERS)
    project.arrive("0", [{"id": each} for each in range(20)])
    run(project)
    return project


@pytest.mark.parametrize(
    "steps",
    [
        # One behind each thing that is on the disk by then; the other steps leave the same as one of these.
        pytest.param(("after Spark", "while the rest is done", "between the renames"), id="some"),
        pytest.param(tuple(STEPS), id="all", marks=pytest.mark.slow),
    ],
)
def test_whatever_step_the_process_dies_at_the_flow_goes_on(
    one_flow: PipelineProject, monkeypatch: pytest.MonkeyPatch, steps: tuple[str, ...]
) -> None:
    project, partitions = one_flow, 3
    for number, step in enumerate(steps, start=1):
        function, call, moment, is_new = STEPS[step]
        wanted = 5 - partitions
        with monkeypatch.context() as patch:
            patch.setattr(function, dying(moment, call, pkgutil.resolve_name(function)))
            with pytest.raises(Died):
                repartition(project, "orders", wanted)
        project.arrive(str(number), [{"id": each} for each in range(20 * (number + 1))])
        run(project)
        partitions = wanted if is_new else partitions
        assert state_partitions(checkpoint(project, "orders").storage) == partitions, step
        assert project.rows("orders", "id") == list(range(20 * (number + 1))), step
        assert findings(project) == [], step
    repartition(project, "orders", 4)
    flow = project.directory / ".penstock/checkpoints/shop/orders/orders"
    assert not list(flow.glob("*.restoring-*")), "what was half made is gone"


def dying(moment: str, call: int, function: Callable[..., Any]) -> Callable[..., Any]:
    calls = itertools.count(1)

    def called(*arguments: Any, **named: Any) -> Any:
        number = next(calls)
        if number == call and moment == "before":
            raise Died
        done = function(*arguments, **named)
        if number == call:
            raise Died
        return done

    return called


def test_a_failure_leaves_the_checkpoint_as_it_was(one_flow: PipelineProject) -> None:
    folder = checkpoint(one_flow, "orders")
    before = {name: folder.read(name) for name in folder.files}
    shutil.rmtree(f"{folder.uri}/state/0/1")
    with pytest.raises(ExternalError) as failed:
        repartition_state(
            one_flow.config,
            checkpoint(one_flow, "orders"),
            present=3,
            partitions=2,
            flow="orders",
            dataset="shop.orders",
            progress=say_nothing,
            spark=one_flow.spark,
        )
    assert failed.value.condition == "CHECKPOINT_REPARTITION_FAILED"
    assert "No continuous partitions in state" in str(failed.value)
    after = checkpoint(one_flow, "orders")
    kept = {name: content for name, content in before.items() if not name.startswith("state/0/1/")}
    assert {name: after.read(name) for name in after.files} == kept
    assert [entry.name for entry in Storage(folder.uri.rpartition("/")[0]).list()] == ["0"]
