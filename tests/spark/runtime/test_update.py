"""What updates do to tables, told as the life of one pipeline; checked without Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError
from penstock.events import Event, UpdateState
from penstock.runtime.storage_state import catalog
from penstock.runtime.storage_state.first_read import reads_from_the_first_version

PIPELINE = """
@dlt.table(comment="as they arrive")
def bronze():
    return spark.readStream.schema("id LONG, shop STRING, amount DOUBLE").json("in")

@dlt.view
@dlt.expect("has a shop", "shop IS NOT NULL")
def checked():
    return dlt.read_stream("bronze")

@dlt.table
@dlt.expect_or_drop("positive", "amount > 0")
def silver():
    return dlt.read_stream("checked").withColumn("cents", (F.col("amount") * 100).cast("long"))

@dlt.table
def totals():
    return dlt.read_stream("silver").groupBy("shop").agg(F.sum("cents").alias("cents"))

@dlt.table
def top():
    return spark.sql("SELECT shop, count(*) AS orders FROM silver GROUP BY shop")

dlt.create_streaming_table("everything")

@dlt.append_flow(target="everything")
def from_silver():
    return spark.readStream.table("silver").select("id")

@dlt.append_flow(target="everything")
def from_returns():
    return spark.readStream.schema("id LONG").json("returns")

@dlt.append_flow(target="everything", once=True)
def from_history():
    return spark.read.schema("id LONG").json("history")
"""


class Oracle:
    """What the tables of PIPELINE must hold for the rows that arrived."""

    def __init__(self, project: PipelineProject) -> None:
        self.project = project
        self.orders: list[dict[str, object]] = []
        self.others: list[int] = []

    def arrive(self, name: str, rows: list[dict[str, object]]) -> None:
        self.project.arrive(name, rows)
        self.orders += rows

    def check(self) -> None:
        project, good = self.project, [row for row in self.orders if row["amount"] > 0]  # type: ignore[operator]
        shops = Counter(row["shop"] for row in good)
        cents: Counter[object] = Counter()
        for row in good:
            cents[row["shop"]] += round(row["amount"] * 100)  # type: ignore[operator]
        assert project.rows("bronze", "id") == [row["id"] for row in self.orders]
        assert project.rows("silver", "id", "shop") == [(row["id"], row["shop"]) for row in good]
        assert project.rows("totals", "shop", "cents") == _nulls_last(cents)
        assert project.rows("top", "shop", "orders") == _nulls_last(shops)
        assert project.rows("everything", "id") == [*(row["id"] for row in good), *self.others]


def _nulls_last(counts: Counter[object]) -> list[tuple[object, int]]:
    return sorted(counts.items(), key=lambda item: (item[0] is None, item[0]))


def _orders(start: int, count: int) -> list[dict[str, object]]:
    shops = ["north", "south", None]
    return [{"id": n, "shop": shops[n % 3], "amount": (n % 5 - 1) * 1.25} for n in range(start, start + count)]


@pytest.mark.parametrize(
    "refreshed",
    [
        # A full refresh of everything computes these three again too; of some, test_change_flows.py has one.
        pytest.param(("silver", "totals", "everything"), id="some", marks=pytest.mark.slow),
        pytest.param((), id="all"),
    ],
)
def test_the_life_of_a_pipeline(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch, refreshed: tuple[str, ...]
) -> None:
    from_the_log: dict[str, bool] = {}

    def answered(checkpoint: str, source: str, *more: Any) -> bool:
        from_the_log[source] = reads_from_the_first_version(checkpoint, source, *more)
        return from_the_log[source]

    monkeypatch.setattr(catalog, "reads_from_the_first_version", answered)
    project.write(PIPELINE)
    oracle = Oracle(project)
    oracle.arrive("1", _orders(0, 40))
    project.arrive("1", [{"id": 1001}], folder="returns")
    project.arrive("1", [{"id": 2001}, {"id": 2002}], folder="history")
    oracle.others = [1001, 2001, 2002]

    seen: list[Event] = []
    first = project.run(on_event=seen.append)
    assert (first.state, first.errors) == (UpdateState.COMPLETED, ())
    assert from_the_log == {"bronze": True, "silver": True}
    oracle.check()
    good = len([row for row in oracle.orders if row["amount"] > 0])  # type: ignore[operator]
    written = project.written(first)
    assert written == {"bronze": 40, "silver": good, "totals": 3, "top": 3, "everything": good + 3}
    assert project.quality(first) == {
        ("checked", "has a shop"): (27, 13, "warn"),
        ("silver", "positive"): (good, 40 - good, "drop"),
    }
    _check_events(project, first.update_id)
    assert [event.id for event in seen] == [event.id for event in project.events()]

    versions = {name: project.version(name) for name in ("bronze", "silver", "totals", "everything")}
    oracle.arrive("2", _orders(40, 15))
    selected = project.run(refresh=("bronze", "totals"))
    assert project.written(selected) == {"bronze": 15}, "nothing new has come for totals"
    assert project.statuses(selected, "silver") == ["EXCLUDED"]
    assert len(project.rows("silver", "id")) == good
    assert project.version("totals") == versions["totals"]

    bronze = project.version("bronze")
    rest = project.run()
    new = len([row for row in oracle.orders if row["amount"] > 0]) - good  # type: ignore[operator]
    assert project.written(rest) == {"silver": new, "totals": 3, "top": 3, "everything": new}, "each row once"
    assert project.version("bronze") == bronze, "nothing new has come for it"
    oracle.check()

    before = {name: project.version(name) for name in versions}
    with pytest.raises(StateError) as refused:
        project.run(full_refresh=("silver",))
    assert refused.value.condition == "FULL_REFRESH_BREAKS_READERS"
    assert {name: project.version(name) for name in versions} == before
    anew = project.run(full_refresh=refreshed, full_refresh_all=not refreshed)
    assert anew.errors == ()
    assert project.written(anew)["everything"] == len(project.rows("everything", "id"))
    assert project.written(anew).get("bronze", 0) == (0 if refreshed else 55)
    oracle.check()
    assert [each.name for each in (project.directory / ".penstock/checkpoints/shop/bronze/bronze").iterdir()] != []


def _check_events(project: PipelineProject, update_id: str) -> None:
    events = [event for event in project.events() if event.origin.update_id == update_id]
    assert [event.sequence for event in events] == list(range(events[0].sequence, events[0].sequence + len(events)))
    states = [event.details["update_progress"]["state"] for event in events if "update_progress" in event.details]
    assert states == ["WAITING_FOR_RESOURCES", "INITIALIZING", "SETTING_UP_TABLES", "RUNNING", "COMPLETED"]
    definitions = {
        event.details["dataset_definition"]["dataset"]: event.details["dataset_definition"]["dataset_type"]
        for event in events
        if "dataset_definition" in event.details
    }
    assert definitions == {
        "shop.bronze": "STREAMING_TABLE",
        "shop.checked": "VIEW",
        "shop.silver": "STREAMING_TABLE",
        "shop.totals": "STREAMING_TABLE",
        "shop.top": "MATERIALIZED_VIEW",
        "shop.everything": "STREAMING_TABLE",
    }
    flows = {
        (event.origin.dataset_name, event.origin.flow_name)
        for event in events
        if event.event_type.value == "flow_progress"
    }
    assert len(flows) == 7
    for dataset, flow in flows:
        own = [event for event in events if (event.origin.dataset_name, event.origin.flow_name) == (dataset, flow)]
        progress = [event.details["flow_progress"] for event in own if "flow_progress" in event.details]
        kinds = ["batch" if "metrics" in each else each["status"] for each in progress]
        assert kinds[0] == "QUEUED", (dataset, flow)
        assert kinds[-1] == "COMPLETED", (dataset, flow)
        assert kinds.index("RUNNING") < kinds.index("batch") < kinds.index("COMPLETED"), (dataset, flow, kinds)
        assert kinds.count("COMPLETED") == 1
