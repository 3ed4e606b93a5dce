"""Events that were put aside and repaired: applied once, by their flow, wherever their sequence puts them."""

from __future__ import annotations

from typing import Any

import pytest
from delta.tables import DeltaTable as SparkDeltaTable
from deltalake import DeltaTable
from tests.oracle.tables import assert_table, read_table
from tests.spark.changes.model import Event, Settings, histories
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import ExternalError, StateError
from penstock.observe.status.pipeline_status import project_status
from penstock.runtime.commands.replay import ReplayOutcome, replay_quarantine
from penstock.spark.writers.changes import writer

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

dlt.create_streaming_table("history", expect_all_or_quarantine={"a city": "city <> 'nowhere'"})
for side in ("east", "west"):
    dlt.apply_changes(
        "history", side, keys=["id"], sequence_by="at", flow_name=side, where="id IS NULL OR id < 100",
        apply_as_deletes="op = 'D'", column_list=["id", "name", "city"], stored_as_scd_type=2,
    )
"""


def event(*values: Any) -> dict[str, Any]:
    return dict(zip(FIELDS, values, strict=True))


def model(events: list[dict[str, Any]]) -> list[Event]:
    """Returns whole events as the model takes them."""
    return [
        Event(each["id"], each["at"], each["op"], {name: each[name] for name in ("name", "city")}) for each in events
    ]


def _replay(project: PipelineProject, where: str | None = None) -> ReplayOutcome:
    return replay_quarantine(project.config, "history", where=where, progress=lambda _: None, spark=project.spark)


def _aside(project: PipelineProject) -> dict[str, list[str]]:
    return {row["name"]: row["_quarantine_rules"] for row in read_table(project.path("history__quarantine"))}


def _dies(*_: Any, **__: Any) -> None:
    raise SystemError("the process dies here")


@pytest.mark.slow
def test_repaired_events_find_their_place_once(project: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(PIPELINE)
    good = [event(1, "a", "X", "U", 10), event(4, "d", "X", "U", 10), event(5, "e", "X", "U", 3)]
    broken = [
        event(None, "older", "W", "U", 5),  # of 1: older than what the target has
        event(None, "newer", "Z", "U", 20),  # of 1: newer
        event(4, "end", None, "D", None),  # deletes 4 at 12
        event(5, "away", "nowhere", "U", 4),
        event(None, "far", "X", "U", 8),  # its flow does not take such a key
        event(None, "beyond repair", "X", "U", 30),
    ]
    project.arrive("1", [*good, *broken], folder="east")
    project.arrive("1", [event(None, "from the west", "Y", "U", 21), event(None, "gone", "Y", "U", 1)], folder="west")
    assert project.run().errors == ()
    repairs = {
        "older": {"id": "1"},
        "newer": {"id": "1"},
        "end": {"at": "12"},
        "away": {"city": "'V'"},
        "far": {"id": "100"},
        "from the west": {"id": "1"},
        "gone": {"id": "9", "_quarantine_flow": "'south'"},
    }
    for name, updates in repairs.items():
        DeltaTable(project.path("history__quarantine")).update(updates=updates, predicate=f"name = '{name}'")

    # The process dies between log and target; what arrives before the next replay is older than a repaired event.
    with monkeypatch.context() as patch:
        patch.setattr(writer, "merge_rows", _dies)
        with pytest.raises(ExternalError):
            _replay(project, where="name <> 'newer'")
    assert len(_aside(project)) == 8, "nothing left the quarantine"
    late = event(1, "between", "Y", "U", 15)
    project.arrive("2", [late], folder="east")
    assert project.run().errors == ()
    with monkeypatch.context() as patch:
        patch.setattr(SparkDeltaTable, "delete", _dies)
        with pytest.raises(ExternalError):
            _replay(project)
    older, newer = event(1, "older", "W", "U", 5), event(1, "newer", "Z", "U", 20)
    repaired = [older, event(4, "end", None, "D", 12), event(5, "away", "V", "U", 4)]
    repaired.append(event(1, "from the west", "Y", "U", 21))
    assert_table(project.path("history"), histories(model([*good, late, *repaired]), Settings()))
    again = _replay(project)
    assert (again.replayed, again.remaining, again.gone_flows) == (5, 3, ("south",))
    assert_table(project.path("history"), histories(model([*good, late, *repaired, newer]), Settings()))
    assert _aside(project) == {
        "far": ["the event meets where"],
        "beyond repair": ["the key is not NULL"],
        "gone": ["the key is not NULL"],
    }
    status = project_status(project.events()).dataset("shop.history")
    assert status is not None
    assert status.quarantined == 3
    changed = [
        each.details["flow_progress"]["metrics"]["num_upserted_rows"]
        for each in project.events()
        if each.origin.dataset_name == "shop.history" and each.origin.flow_name == "quarantine replay"
    ]
    # The first four were in the table already when their replay was told: it had died before that.
    assert changed[-1] == 2

    project.write(PIPELINE.replace('keys=["id"]', 'keys=["id", "city"]'))
    with pytest.raises(StateError) as refused:
        _replay(project)
    assert refused.value.condition == "CHANGE_CAPTURE_CHANGED"
