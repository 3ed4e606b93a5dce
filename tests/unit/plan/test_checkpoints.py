"""Whether a flow goes on with its checkpoint: what a check found, and what the flow's definition changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.conftest import Pipeline

from penstock.errors import StateError
from penstock.events.flows.state_size import StateSize
from penstock.graph.identifier import Identifier
from penstock.graph.stream_definition import StateOperator, StreamDefinition
from penstock.plan.checkpoints import GuardedStream, guard_stream
from penstock.plan.state import CheckpointCheck, StateSnapshot
from penstock.plan.stream_changes import Verdict
from penstock.storage.checkpoint.newest import Repair

GOLD = Identifier("shop", "gold")
KEY = (GOLD, "gold")
CODEC = "spark.sql.streaming.stateStore.compression.codec"
SUMS = StateOperator("aggregate", ("id",), ("sum(amount)",), "a1")
BEFORE = StreamDefinition({"kafka_orders": "kafka orders"}, (SUMS,), query="q1", settings={CODEC: "lz4"})
REFUSED = StateError("CHECKPOINT_REWIND_UNFINISHED", name="shop.gold", batch=3)
REPAIR = Repair("commits/4", "the note that batch 4 is done is empty: the batch is done again")


def _guarded(
    pipeline: Pipeline,
    *,
    now: StreamDefinition = BEFORE,
    check: CheckpointCheck | None = None,
    reset: bool = False,
) -> GuardedStream:
    pipeline.stream("gold", stateful=("aggregate",)).runs("gold", now, noted=BEFORE)
    state = StateSnapshot(
        streams=pipeline.streams,
        checks={} if check is None else {KEY: check},
        rows_read=lambda *flow: 12_345 if flow == KEY else 0,
        state_size=lambda *flow: StateSize(7, 0) if flow == KEY else None,
    )
    [flow] = pipeline.flows
    return guard_stream(pipeline.graph, state, flow, reset=reset, way_out=lambda: "penstock run --full-refresh gold")


def test_damaged_checkpoint_refuses_the_flow_and_repairs_nothing(pipeline: Pipeline) -> None:
    guarded = _guarded(pipeline, check=CheckpointCheck((REFUSED,), (REPAIR,)))
    assert (guarded.refusals, guarded.repairs, guarded.notices) == ((REFUSED,), (), ())


def test_damaged_checkpoint_is_refused_for_its_damage_and_not_for_its_query(pipeline: Pipeline) -> None:
    guarded = _guarded(pipeline, now=replace(BEFORE, operators=()), check=CheckpointCheck((REFUSED,)))
    assert guarded.refusals == (REFUSED,)


def test_full_refresh_passes_over_what_is_wrong_with_the_checkpoint(pipeline: Pipeline) -> None:
    guarded = _guarded(pipeline, check=CheckpointCheck((REFUSED,), (REPAIR,)), reset=True)
    assert guarded == GuardedStream(replace(guarded.changes, verdict=Verdict.NEW))
    assert guarded.describe() == ""


def test_repairs_are_done_and_described(pipeline: Pipeline) -> None:
    guarded = _guarded(pipeline, check=CheckpointCheck((), (REPAIR,)))
    assert (guarded.refusals, guarded.repairs, guarded.size) == ((), (REPAIR,), StateSize(7, 0))
    assert guarded.describe() == (
        "; checkpoint unchanged; 7 rows of state, 0.0 MB in memory; repairs its checkpoint: "
        "the note that batch 4 is done is empty: the batch is done again"
    )


def test_other_query_over_the_same_state_is_refused_with_what_a_full_refresh_reads_again(pipeline: Pipeline) -> None:
    [refusal] = _guarded(pipeline, now=replace(BEFORE, operators=())).refusals
    assert (refusal.condition, refusal.dataset) == ("CHECKPOINT_NOT_COMPATIBLE", "shop.gold")
    assert refusal.location == pipeline.flows[0].declaration.location
    assert refusal.facts == {
        "flow": "gold",
        "name": "shop.gold",
        "reasons": "it kept state for aggregate and now needs it for nothing",
        "rows": "12,345",
        "command": "penstock run --full-refresh gold",
    }


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_state_setting_without_effect_is_a_notice(pipeline: Pipeline, codec: str) -> None:
    guarded = _guarded(pipeline, now=replace(BEFORE, settings={CODEC: codec}))
    assert guarded.refusals == ()
    if codec == "lz4":
        assert guarded.notices == ()
        return
    [notice] = guarded.notices
    assert (notice.condition, notice.dataset) == ("STATE_SETTING_KEPT", "shop.gold")
    assert notice.location == pipeline.flows[0].declaration.location
    assert notice.facts == {
        "name": "shop.gold",
        "settings": f"{CODEC} stays lz4, not zstd",
        "command": "penstock run --full-refresh gold",
    }
