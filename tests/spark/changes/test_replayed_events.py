"""Events that were put aside and repaired: applied once, by their flow, wherever their sequence puts them."""

from __future__ import annotations

from typing import Any

import pytest
from delta.tables import DeltaTable as SparkDeltaTable
from deltalake import DeltaTable
from tests.oracle.tables import assert_table, read_table
from tests.spark.changes.model import Event, Settings, histories, newest_rows
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import ExternalError, StateError
from penstock.observe.status import project_status
from penstock.runtime.replay import ReplayOutcome, replay_quarantine
from penstock.spark.changes import writer

FIELDS = ("id", "name", "city", "op", "at")
PIPELINE = """
def read(folder):
    return spark.readStream.schema("id LONG, name STRING, city STRING, op STRING, at LONG").json(folder)

@dlt.view
def east():
    return read("east")

@dlt.view
def west():
    return read("west").selectExpr("id", "at", "name", "city", "op", "'w' AS side")

rules = {"a city": "city <> 'nowhere'"}
common = dict(keys=["id"], sequence_by="at", apply_as_deletes="op = 'D'", column_list=["id", "name", "city"])
dlt.create_streaming_table("newest", expect_all_or_drop=rules)
for side in ("east", "west"):
    dlt.apply_changes("newest", side, flow_name=side, where="id IS NULL OR id < 100", **common)
dlt.create_streaming_table("history", expect_all_or_quarantine=rules)
dlt.apply_changes("history", "east", stored_as_scd_type=2, **common)
"""


def event(*values: Any) -> dict[str, Any]:
    return dict(zip(FIELDS, values, strict=True))


def model(events: list[dict[str, Any]]) -> list[Event]:
    """Returns whole events as the model takes them."""
    return [
        Event(each["id"], each["at"], each["op"], {name: each[name] for name in ("name", "city")}) for each in events
    ]


def _replay(project: PipelineProject, table: str, where: str | None = None) -> ReplayOutcome:
    return replay_quarantine(project.config, table, where=where, progress=lambda _: None, spark=project.spark)


def _repair(project: PipelineProject, table: str, name: str, **updates: str) -> None:
    DeltaTable(project.path(f"{table}__quarantine")).update(updates=updates, predicate=f"name = '{name}'")


def _aside(project: PipelineProject, table: str) -> dict[str, list[str]]:
    return {row["name"]: row["_quarantine_rules"] for row in read_table(project.path(f"{table}__quarantine"))}


def _dies(*_: Any, **__: Any) -> None:
    raise SystemError("the process dies here")


def test_repaired_events_find_their_place_once(project: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(PIPELINE)
    good = [event(1, "a", "X", "U", 10), event(4, "d", "X", "U", 10), event(5, "e", "X", "U", 3)]
    broken = [
        event(None, "older", "W", "U", 5),  # of 1: older than what the targets have
        event(None, "newer", "Z", "U", 20),  # of 1: newer
        event(4, "end", None, "D", None),  # deletes 4 at 12
        event(None, "far", "X", "U", 8),  # its flow into `newest` does not take such a key
        event(None, "beyond repair", "X", "U", 30),
    ]
    nowhere = event(5, "away", "nowhere", "U", 4)
    project.arrive("1", [*good, *broken, nowhere], folder="east")
    project.arrive("1", [event(None, "from the west", "Y", "U", 21), event(None, "gone", "Y", "U", 1)], folder="west")
    assert project.run().errors == ()
    for table in ("newest", "history"):
        for name in ("older", "newer"):
            _repair(project, table, name, id="1")
        _repair(project, table, "end", at="12")
        _repair(project, table, "far", id="100")
    _repair(project, "history", "away", city="'V'")
    _repair(project, "newest", "from the west", id="1")
    _repair(project, "newest", "gone", id="9", _quarantine_flow="'south'")
    repaired = [
        event(1, "older", "W", "U", 5),
        event(1, "newer", "Z", "U", 20),
        event(4, "end", None, "D", 12),
        event(5, "away", "V", "U", 4),
    ]
    far = event(100, "far", "X", "U", 8)

    # The process dies between log and target; what arrives before the next replay is older than a repaired event.
    with monkeypatch.context() as patch:
        patch.setattr(writer, "merge_rows", _dies)
        with pytest.raises(ExternalError):
            _replay(project, "history")
    assert len(_aside(project, "history")) == 6, "nothing left the quarantine"
    late = event(1, "between", "Y", "U", 15)
    project.arrive("2", [late], folder="east")
    assert project.run(refresh=("history",)).errors == ()
    with monkeypatch.context() as patch:
        patch.setattr(SparkDeltaTable, "delete", _dies)
        with pytest.raises(ExternalError):
            _replay(project, "history")
    wanted = histories(model([*good, *repaired, late, far]), Settings())
    assert_table(project.path("history"), wanted)
    version = project.version("history")
    again = _replay(project, "history")
    assert (again.replayed, again.remaining, again.gone_flows) == (5, 1, ())
    assert project.version("history") == version
    assert _aside(project, "history") == {"beyond repair": ["the key is not NULL"]}

    west = event(1, "from the west", "Y", "U", 21)
    outcome = _replay(project, "newest", where="name <> 'newer'")
    assert (outcome.replayed, outcome.remaining, outcome.gone_flows) == (3, 4, ("south",))
    assert_table(project.path("newest"), newest_rows(model([*good, repaired[0], repaired[2], west]), Settings()))
    assert _aside(project, "newest") == {
        "newer": ["the key is not NULL"],
        "far": ["the event meets where"],
        "beyond repair": ["the key is not NULL"],
        "gone": ["the key is not NULL"],
    }
    changed = [
        each.details["flow_progress"]["metrics"]
        for each in project.events()
        if each.origin.dataset_name == "shop.newest" and each.origin.flow_name == "quarantine replay"
    ]
    assert [(each["num_upserted_rows"], each["num_deleted_rows"]) for each in changed] == [(1, 1)]
    status = project_status(project.events()).dataset("shop.newest")
    assert status is not None
    assert (status.quarantined, status.dropped) == (4, 1)

    project.write(PIPELINE.replace('keys=["id"]', 'keys=["id", "city"]'))
    with pytest.raises(StateError) as refused:
        _replay(project, "newest")
    assert refused.value.condition == "CHANGE_CAPTURE_CHANGED"
