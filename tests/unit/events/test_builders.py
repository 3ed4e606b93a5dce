from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recorded.build import SECOND_UPDATE

from penstock.events import (
    BatchProgress,
    EventLog,
    EventType,
    ExpectationCount,
    FlowStatus,
    Lateness,
    Level,
    OperatorState,
    UpdateState,
    batch_progress_of,
    builders,
    flow_status_of,
)
from penstock.events.log.audit import Actor
from penstock.storage import Storage

PROGRESS = BatchProgress(
    batch_id=3,
    num_input_rows=1218,
    num_output_rows=1204,
    dropped_records=12,
    quarantined_records=2,
    input_rows_per_second=1500.5,
    processed_rows_per_second=1505.0,
    batch_duration_ms=800,
    phases_ms={"addBatch": 700},
    watermark="2026-11-20T09:00:00.000Z",
    state_rows=5,
    state_bytes=100,
    state_operators=(OperatorState("dedupe", 2, 40, 1, 0), OperatorState("stateStoreSave", 3, 60, 2, 1, growth=-1)),
    late_rows=0,
    backlog_bytes=1,
    backlog_files=2,
    backlog_records=3,
    backlog_ms=4,
    expectations=(
        ExpectationCount("positive amount", "shop.silver_orders", 1204, 12, "drop"),
        ExpectationCount("has customer", "shop.silver_orders", 1215, 1, "warn"),
    ),
)
batches = st.builds(
    BatchProgress,
    batch_id=st.integers(0, 10**6),
    num_input_rows=st.integers(0, 10**12),
    num_output_rows=st.integers(0, 10**12),
    dropped_records=st.integers(0, 10**6),
    quarantined_records=st.integers(0, 10**6),
    input_rows_per_second=st.none() | st.floats(0, 1e9),
    processed_rows_per_second=st.none() | st.floats(0, 1e9),
    batch_duration_ms=st.none() | st.integers(0, 10**9),
    phases_ms=st.dictionaries(st.text(max_size=5), st.integers(0, 10**6), max_size=2),
    watermark=st.none() | st.text(max_size=5),
    state_rows=st.none() | st.integers(0, 10**9),
    state_operators=st.lists(
        st.builds(
            OperatorState,
            st.text(max_size=5),
            *[st.integers(0, 10**9)] * 4,
            st.none() | st.integers(-(10**9), 10**9),
        ),
        max_size=2,
    ).map(tuple),
    late_rows=st.none() | st.integers(0, 10**9),
    event_time_max=st.none() | st.text(max_size=5),
    lateness=st.none()
    | st.builds(
        Lateness,
        st.integers(0, 10**12),
        st.integers(0, 10**10),
        st.integers(0, 10**10),
        st.dictionaries(st.integers(0, 10**10), st.integers(1, 10**12), max_size=3),
    ),
    num_upserted_rows=st.none() | st.integers(0, 10**9),
    num_deleted_rows=st.none() | st.integers(0, 10**9),
    backlog_records=st.none() | st.integers(0, 10**9),
    expectations=st.lists(
        st.builds(
            ExpectationCount,
            st.text(max_size=5),
            st.text(min_size=1, max_size=5),
            st.integers(0, 10**9),
            st.integers(0, 10**9),
            st.sampled_from(["warn", "drop", "fail", "quarantine"]),
        ),
        max_size=2,
    ).map(tuple),
)


@settings(max_examples=50)
@given(batches)
def test_a_batch_survives_the_log(progress: BatchProgress) -> None:
    storage = "memory://builders"
    with EventLog.open(storage, pipeline_name="p", update_id=SECOND_UPDATE) as log:
        event = log.append(EventType.FLOW_PROGRESS, *builders.flow_batch("t", progress), dataset="s.t")
    Storage(storage).delete("")
    assert event.level is Level.METRICS
    assert batch_progress_of(event) == progress
    assert flow_status_of(event) is FlowStatus.RUNNING


def test_a_batch_as_monitoring_queries_expect_it() -> None:
    message, details = builders.flow_batch("silver_orders", PROGRESS)
    assert message == "silver_orders: batch 3 wrote 1,204 rows in 0.8 s, 12 dropped, 2 quarantined, 1 warning"
    progress = details["flow_progress"]
    assert progress["status"] == "RUNNING"
    assert progress["metrics"]["num_output_rows"] == 1204
    assert progress["metrics"]["phases_ms"] == {"addBatch": 700}
    assert "expectations" not in progress["metrics"]
    assert progress["data_quality"] == {
        "dropped_records": 12,
        "quarantined_records": 2,
        "expectations": [
            {
                "name": "positive amount",
                "dataset": "shop.silver_orders",
                "passed_records": 1204,
                "failed_records": 12,
                "action": "drop",
            },
            {
                "name": "has customer",
                "dataset": "shop.silver_orders",
                "passed_records": 1215,
                "failed_records": 1,
                "action": "warn",
            },
        ],
    }


@pytest.mark.parametrize(
    ("progress", "message"),
    [
        (BatchProgress(0, 1, 1), "t: batch 0 wrote 1 row"),
        (BatchProgress(0, 0, 0, batch_duration_ms=40), "t: batch 0 wrote 0 rows in 40 ms"),
        (BatchProgress(1, 5, 4, late_rows=1, batch_duration_ms=61_000), "t: batch 1 wrote 4 rows in 61.0 s, 1 late"),
        (
            BatchProgress(2, 5, 5, num_upserted_rows=1, num_deleted_rows=3, batch_duration_ms=40),
            "t: batch 2 upserted 1 row and deleted 3 in 40 ms",
        ),
    ],
)
def test_a_batch_in_words(progress: BatchProgress, message: str) -> None:
    assert builders.flow_batch("t", progress)[0] == message


def test_an_update_in_words() -> None:
    def words(**more: object) -> str:
        return builders.create_update(pipeline="orders", cause="USER_ACTION", version="1", **more)[0]  # type: ignore[arg-type]

    assert words() == "orders: update started"
    assert words(full_refresh="all") == "orders: update started, full refresh of all tables"
    assert words(full_refresh=["a"], refresh=["b", "c"]) == (
        "orders: update started, full refresh of a, refresh of b and c only"
    )
    assert words(refresh=list("abcde")) == "orders: update started, refresh of a, b, c and 2 more only"
    assert builders.create_update(pipeline="p", cause="RETRY", version="1", full_refresh=("a",), continuous=True)[
        1
    ] == {
        "create_update": {
            "cause": "RETRY",
            "full_refresh": ["a"],
            "refresh": [],
            "continuous": True,
            "version": "1",
        }
    }


@pytest.mark.parametrize("state", UpdateState)
def test_each_update_state_has_words(state: UpdateState) -> None:
    message, details = builders.update_progress(state, pipeline="orders", reason="a\nreason")
    assert message.startswith("orders ")
    assert message.endswith(": a reason")
    assert details == {"update_progress": {"state": state.value}}


@pytest.mark.parametrize("status", FlowStatus)
def test_each_flow_status_has_words(status: FlowStatus) -> None:
    message, details = builders.flow_status("silver", status)
    assert message.startswith("silver ")
    assert details == {"flow_progress": {"status": status.value}}


def test_definitions() -> None:
    _, details = builders.dataset_definition(
        "shop.t",
        dataset_type="VIEW",
        schema=[("a", "int", "note")],
        inputs=["shop.s"],
        expectations=[("positive", "a > 0", "drop")],
        location="a.py:3",
    )
    assert details["dataset_definition"] == {
        "dataset": "shop.t",
        "dataset_type": "VIEW",
        "schema": [{"name": "a", "type": "int", "comment": "note"}],
        "comment": None,
        "path": None,
        "inputs": ["shop.s"],
        "expectations": [{"name": "positive", "constraint": "a > 0", "action": "drop"}],
        "location": "a.py:3",
    }
    message, details = builders.flow_definition(
        "t",
        output_dataset="shop.t",
        flow_type="append",
        sources=iter([("kafka", "orders", "S0")]),
        watermark=("at", "1 hour"),
    )
    assert message == "t: append flow into shop.t from kafka orders"
    definition = details["flow_definition"]
    assert definition["sources"] == [{"format": "kafka", "description": "orders", "name": "S0"}]
    assert definition["watermark"] == {"column": "at", "delay": "1 hour"}
    assert "limits" not in definition
    assert (definition["flow_type"], definition["input_datasets"], definition["once"]) == ("append", [], False)
    message, details = builders.planning_information([("run flow", "shop.t", "t", "why")])
    assert message == "planned 1 stage"
    assert details["planning_information"]["stages"] == [
        {"stage": "run flow", "dataset": "shop.t", "flow": "t", "explanation": "why"}
    ]
    assert builders.planning_warning("no\nwatermark", name="t")[0] == "t: no watermark"
    assert (
        builders.user_action("FULL_REFRESH", by=Actor("ada", "dashboard", "::1"))[0] == "full refresh by ada from ::1"
    )


def test_names_from_outside_cannot_forge_a_line() -> None:
    hostile = "x\nERROR forged \x1b[31m" + "y" * 500
    for message, _ in (
        builders.flow_batch(hostile, PROGRESS),
        builders.flow_status("t", FlowStatus.FAILED, reason=hostile * 10),
        builders.update_progress(UpdateState.FAILED, pipeline=hostile, reason=hostile),
        builders.dataset_definition(hostile, dataset_type="VIEW", inputs=[hostile] * 9),
        builders.user_action(hostile, by=Actor(hostile, hostile, hostile)),
    ):
        assert message.isprintable()
        assert len(message) < 700


@pytest.mark.parametrize(
    "details",
    [
        {},
        {"flow_progress": None},
        {"flow_progress": []},
        {"flow_progress": {"status": "OF_THE_FUTURE", "metrics": None}},
        {"flow_progress": {"metrics": 5}},
    ],
)
def test_a_progress_of_another_shape_has_no_numbers(details: dict[str, object]) -> None:
    with EventLog.open("memory://shapes", pipeline_name="p", update_id="u") as log:
        event = log.append(EventType.FLOW_PROGRESS, "", details)
    Storage("memory://shapes").delete("")
    assert batch_progress_of(event) is None
    assert flow_status_of(event) is None


def test_numbers_of_another_shape_count_as_unknown() -> None:
    details = {
        "flow_progress": {
            "metrics": {"num_output_rows": "many", "watermark": 5, "phases_ms": [], "batch_duration_ms": True},
            "data_quality": {"dropped_records": 2, "expectations": [5, {"name": "x", "failed_records": 1}]},
        }
    }
    with EventLog.open("memory://numbers", pipeline_name="p", update_id="u") as log:
        event = log.append(EventType.FLOW_PROGRESS, "", details, dataset="s.t", batch_id=4)
    Storage("memory://numbers").delete("")
    assert batch_progress_of(event) == BatchProgress(
        4, 0, 0, dropped_records=2, expectations=(ExpectationCount("x", "s.t", 0, 1, "warn"),)
    )
