from __future__ import annotations

import json
from dataclasses import replace

import pytest

from penstock.events.flows.state_size import StateSize
from penstock.graph.stream_definition import WATERMARK_POLICY, StateOperator, StreamDefinition
from penstock.plan.stages import RunSinkFlow, RunStreamingFlow
from penstock.plan.stream_changes import Verdict, compare_streams

from .conftest import Pipeline

PLAIN = StreamDefinition({"kafka_orders": "kafka orders"}, query="q1")
HOURLY = StateOperator("aggregate", ("window", "product"), ("sum(amount)",), "a1")
WINDOWS = StreamDefinition({"bronze": "shop.bronze"}, (HOURLY,), {"order_time": "1 hour"}, "append", "q1")
UPDATED = replace(WINDOWS, output_mode="update", keys=("window", "product"))
CODEC = "spark.sql.streaming.stateStore.compression.codec"
DISTINCT = StateOperator("deduplicate", ("order_id",), (), "d1")


def test_a_definition_survives_its_note() -> None:
    for stream in (WINDOWS, UPDATED, replace(UPDATED, keys=())):
        assert StreamDefinition.from_json(json.loads(json.dumps(stream.to_json()))) == stream


def test_a_note_of_a_version_that_knew_no_keys() -> None:
    note = WINDOWS.to_json()
    del note["keys"]
    assert StreamDefinition.from_json(note) == WINDOWS


@pytest.mark.parametrize("damaged", [{}, [], None, {"sources": []}, {**WINDOWS.to_json(), "operators": [1]}])
def test_a_damaged_note_is_none(damaged: object) -> None:
    with pytest.raises((KeyError, TypeError, AttributeError)):
        StreamDefinition.from_json(damaged)


@pytest.mark.parametrize("now", [PLAIN, WINDOWS])
def test_without_a_checkpoint_everything_is_new(now: StreamDefinition) -> None:
    assert compare_streams(None, now, started=False).verdict is Verdict.NEW


@pytest.mark.parametrize("now", [PLAIN, WINDOWS])
def test_the_same_is_unchanged(now: StreamDefinition) -> None:
    assert compare_streams(now, now, started=True).verdict is Verdict.UNCHANGED
    assert compare_streams(None, now, started=True).verdict is Verdict.UNCHANGED, "nothing was noted"


def test_settings_in_other_letters_and_those_of_an_older_checkpoint_are_the_same() -> None:
    now = replace(WINDOWS, settings={WATERMARK_POLICY: "max", CODEC: "lz4"})
    for before in (replace(WINDOWS, settings={WATERMARK_POLICY: "MAX", "spark.other": "1"}), WINDOWS):
        assert compare_streams(before, now, started=True).verdict is Verdict.UNCHANGED
    before = replace(WINDOWS, settings={WATERMARK_POLICY: "min"})
    assert compare_streams(before, WINDOWS, started=True).verdict is Verdict.UNCHANGED, "it has one watermark"


COMPATIBLE = {
    "another filter": (PLAIN, replace(PLAIN, query="q2"), "new rows come from the new query"),
    "a filter before state": (WINDOWS, replace(WINDOWS, query="q2"), "holds rows of the old query beside"),
    "a source more": (
        PLAIN,
        replace(PLAIN, sources={**PLAIN.sources, "refunds": "kafka refunds"}, query="q2"),
        "source refunds is new: kafka refunds is read from its beginning",
    ),
    "a source less": (
        replace(PLAIN, sources={**PLAIN.sources, "refunds": "kafka refunds"}),
        PLAIN,
        "source refunds is gone: its rows stay",
    ),
    "another delay": (
        WINDOWS,
        replace(WINDOWS, watermarks={"order_time": "2 hours"}, query="q2"),
        "waits 2 hours instead of 1 hour",
    ),
    "the same keys, in another order and spelling": (
        UPDATED,
        replace(UPDATED, keys=("Product", "window"), query="q2"),
        "its query has changed",
    ),
    "another codec, of which the checkpoint has one": (
        replace(WINDOWS, settings={CODEC: "lz4"}),
        replace(WINDOWS, settings={CODEC: "zstd"}),
        f"its state keeps the {CODEC} with which it began, lz4; zstd is for a new checkpoint",
    ),
    "another output mode, without state": (PLAIN, replace(PLAIN, output_mode="update", query="q2"), "new query"),
}


@pytest.mark.parametrize("case", COMPATIBLE)
def test_compatible_changes(case: str) -> None:
    before, now, effect = COMPATIBLE[case]
    changes = compare_streams(before, now, started=True)
    assert changes.verdict is Verdict.COMPATIBLE
    assert effect in changes.describe()


BREAKING = {
    "another topic under the name of a source": (
        PLAIN,
        replace(PLAIN, sources={"kafka_orders": "kafka refunds"}),
        "source kafka_orders read kafka orders and now reads kafka refunds",
    ),
    "grouped by another column": (
        WINDOWS,
        replace(WINDOWS, operators=(replace(HOURLY, keys=("window", "shop"), content="a2"),)),
        "the state of its aggregate is filed by window, product, not by window, shop",
    ),
    "another aggregate function": (
        WINDOWS,
        replace(WINDOWS, operators=(replace(HOURLY, values=("max(amount)",), content="a2"),)),
        "holds sum(amount), not max(amount)",
    ),
    "a computed column that is summed": (
        WINDOWS,
        replace(WINDOWS, operators=(replace(HOURLY, content="a2"),)),
        "the columns from which its aggregate is computed are computed in another way",
    ),
    "fields of a struct in another order": (
        replace(WINDOWS, operators=(replace(HOURLY, held="h1"),)),
        replace(WINDOWS, operators=(replace(HOURLY, values=("first(struct(lon, lat))",), held="h2"),)),
        "holds sum(amount), not first(struct(lon, lat))",
    ),
    "one more operator": (
        WINDOWS,
        replace(WINDOWS, operators=(DISTINCT, HOURLY)),
        "it kept state for aggregate and now needs it for deduplicate, aggregate",
    ),
    "no state any more": (WINDOWS, replace(WINDOWS, operators=()), "now needs it for nothing"),
    "state at last": (PLAIN, replace(PLAIN, operators=(DISTINCT,)), "it kept state for nothing"),
    "operators in another order": (
        replace(WINDOWS, operators=(DISTINCT, HOURLY)),
        replace(WINDOWS, operators=(HOURLY, DISTINCT)),
        "it kept state for deduplicate, aggregate",
    ),
    "update instead of append": (WINDOWS, UPDATED, "its rows were appended and are now updated by window, product"),
    "other keys": (
        replace(PLAIN, output_mode="update", keys=("id",)),
        replace(PLAIN, output_mode="update", keys=("id", "shop")),
        "its rows were updated by id and are now updated by id, shop",
    ),
    "no keys any more": (UPDATED, WINDOWS, "its rows were updated by window, product and are now appended"),
    "one row instead of many": (
        UPDATED,
        replace(UPDATED, keys=()),
        "its rows were updated by window, product and are now updated as one",
    ),
    "another policy of several watermarks": (
        replace(WINDOWS, settings={WATERMARK_POLICY: "min"}),
        replace(WINDOWS, settings={WATERMARK_POLICY: "max"}),
        f"{WATERMARK_POLICY} was min and is max, but Spark goes on with that of the checkpoint",
    ),
    "a change behind an operator that stays": (
        replace(WINDOWS, operators=(DISTINCT, HOURLY)),
        replace(WINDOWS, operators=(DISTINCT, replace(HOURLY, values=("max(amount)",), content="a2"))),
        "holds sum(amount), not max(amount)",
    ),
    "keys for rows that a sink got without": (
        replace(PLAIN, output_mode="update"),
        replace(PLAIN, output_mode="update", keys=("id",)),
        "its rows were handed on and are now updated by id",
    ),
    "no state and no watermark any more": (
        WINDOWS,
        replace(WINDOWS, operators=(), watermarks={}),
        "order_time no longer has a watermark",
    ),
    "complete instead of append": (WINDOWS, replace(WINDOWS, output_mode="complete"), "was append and is complete"),
    "no watermark any more": (
        WINDOWS,
        replace(WINDOWS, watermarks={}),
        "order_time no longer has a watermark, by which its state ends",
    ),
    "a watermark on another column": (
        WINDOWS,
        replace(WINDOWS, watermarks={"paid_at": "1 hour"}),
        "event-time column paid_at now has a watermark",
    ),
}


@pytest.mark.parametrize("case", BREAKING)
def test_breaking_changes(case: str) -> None:
    before, now, reason = BREAKING[case]
    changes = compare_streams(before, replace(now, query="q2"), started=True)
    assert changes.verdict is Verdict.FULL_REFRESH
    assert reason in changes.describe()


def test_reasons_have_an_order_of_their_own() -> None:
    before = replace(WINDOWS, watermarks={f"at_{number}": "1 hour" for number in range(9)})
    reasons = compare_streams(before, replace(WINDOWS, watermarks={}), started=True).reasons
    assert [reason.split()[2] for reason in reasons] == [f"at_{number}" for number in range(9)]


def test_the_plan_says_how_a_checkpoint_compares(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").sink("out", "bronze*").existing("bronze")
    plan = pipeline.runs("bronze", replace(PLAIN, query="q2"), noted=PLAIN).runs("out", PLAIN, noted=PLAIN).plan()

    [flow], [sink] = plan.of_type(RunStreamingFlow), plan.of_type(RunSinkFlow)
    assert flow.explanation.endswith("rows that are written stay as they are, new rows come from the new query")
    assert flow.to_json()["checkpoint"]["verdict"] == "compatible"
    assert sink.to_json()["checkpoint"] == {"verdict": "unchanged", "reasons": [], "repairs": []}
    assert plan.refusals == ()


def test_the_plan_says_how_much_state_there_is(pipeline: Pipeline) -> None:
    pipeline.stream("gold", stateful=("aggregate",)).existing().runs("gold", WINDOWS, noted=WINDOWS)
    [(target, flow)] = pipeline.streams
    pipeline.sizes[target, flow] = StateSize(1200, 3_400_000, 8, 20.0)
    words = "; 1,200 rows of state, 3.4 MB in memory, 20 more with each of the last 8 batches"

    assert pipeline.plan().of_type(RunStreamingFlow)[0].explanation.endswith(words)
    assert words not in pipeline.plan(full_refresh=("gold",)).of_type(RunStreamingFlow)[0].explanation


def test_what_breaks_is_refused_together(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").stream("gold", "bronze*").stream("kept", "bronze*", properties=_NO_RESET).existing()
    other = replace(WINDOWS, operators=(DISTINCT,))
    plan = pipeline.runs("gold", other, noted=WINDOWS).runs("kept", other, noted=WINDOWS).plan()

    gold, kept = plan.refusals
    assert (gold.condition, kept.condition) == ("CHECKPOINT_NOT_COMPATIBLE", "CHECKPOINT_CHANGE_FORBIDDEN")
    assert gold.exit_code == 3
    assert "it kept state for aggregate and now needs it for deduplicate" in gold.message
    assert "penstock run --full-refresh shop.gold" in gold.fix
    assert [each["condition"] for each in plan.to_json()["refusals"]] == [gold.condition, kept.condition]


def test_a_full_refresh_starts_anew(pipeline: Pipeline) -> None:
    pipeline.stream("gold", stateful=("aggregate",)).existing()
    pipeline.runs("gold", replace(WINDOWS, operators=(DISTINCT,)), noted=WINDOWS)

    plan = pipeline.plan(full_refresh=("gold",))

    assert plan.refusals == ()
    [flow] = plan.of_type(RunStreamingFlow)
    assert flow.changes.verdict is Verdict.NEW


_NO_RESET = {"pipelines.reset.allowed": "false"}


def test_a_watermark_is_of_no_account_to_a_flow_without_state() -> None:
    now = replace(PLAIN, watermarks={"order_time": "1 hour"})
    assert compare_streams(PLAIN, now, started=True).describe() == "unchanged"


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (StateSize(1, 50_000), "1 row of state, 0.1 MB in memory"),
        (StateSize(2, 2_000_000_000), "2 rows of state, 2,000.0 MB in memory"),
        (StateSize(2, 0, 1, -1.0), "2 rows of state, 0.0 MB in memory, 1 fewer with the last batch"),
        (StateSize(2, 0, 2, 0.0), "2 rows of state, 0.0 MB in memory, 0 more with each of the last 2 batches"),
        (StateSize(2, 0, 2, 0.6), "2 rows of state, 0.0 MB in memory, 1 more with each of the last 2 batches"),
    ],
)
def test_size_of_state_in_words(size: StateSize, words: str) -> None:
    assert size.describe() == words


def test_what_an_older_version_did_not_note_is_not_compared() -> None:
    noted = StreamDefinition.from_json(json.loads(json.dumps(WINDOWS.to_json())))
    now = replace(WINDOWS, operators=(replace(HOURLY, held="h1"),))
    assert noted.operators[0].held is None
    assert compare_streams(noted, now, started=True).verdict is Verdict.UNCHANGED
    known = StreamDefinition.from_json(json.loads(json.dumps(now.to_json())))
    assert known == now
