from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.conftest import Pipeline

from penstock.errors import ConfigError, StateError
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.protection import PRIVATE
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import (
    AlterTable,
    CreateTable,
    RefreshMaterializedView,
    ResetTable,
    RunOnceFlow,
    RunSinkFlow,
    RunStreamingFlow,
    UpdatePlan,
)
from penstock.plan.state import DATASET_TYPE, GENERATION


def _steps(plan: UpdatePlan) -> list[str]:
    return [
        f"{stage.kind} {stage.dataset.name}" + (f"/{stage.flow_name}" if stage.flow_name else "")
        for stage in plan.stages
    ]


def _generations(plan: UpdatePlan) -> dict[str, int]:
    return {stage.dataset.name: stage.generation for stage in plan.of_type(RunStreamingFlow)}


def _medallion(pipeline: Pipeline) -> Pipeline:
    return pipeline.stream("bronze").stream("silver", "bronze*").materialized("gold", "silver")


def test_the_first_update_creates_each_table_before_its_flow(pipeline: Pipeline) -> None:
    plan = _medallion(pipeline).plan()
    assert _steps(plan) == [
        "create_table bronze",
        "run_streaming_flow bronze/bronze",
        "create_table silver",
        "run_streaming_flow silver/silver",
        "create_table gold",
        "refresh_materialized_view gold/gold",
    ]
    created = plan.of_type(CreateTable)[0]
    assert created.properties == {DATASET_TYPE: "STREAMING_TABLE", GENERATION: "0"}
    assert (created.path, created.schema.names) == ("/lake/bronze", ("id",))
    assert plan.of_type(RefreshMaterializedView)[0].after == (Identifier("shop", "silver"),)


def test_nothing_is_set_up_when_all_is_as_it_was(pipeline: Pipeline) -> None:
    plan = _medallion(pipeline).existing().plan()
    assert _steps(plan) == [
        "run_streaming_flow bronze/bronze",
        "run_streaming_flow silver/silver",
        "refresh_materialized_view gold/gold",
    ]
    assert _generations(plan) == {"bronze": 0, "silver": 0}


def test_changed_properties_alter_the_table(pipeline: Pipeline) -> None:
    pipeline.stream("bronze", properties={"quality": "low"}).existing()
    pipeline.stream("bronze", properties={"quality": "bronze", "owner": "me"})
    del pipeline.flows[0]
    plan = pipeline.plan()
    assert plan.of_type(AlterTable)[0].changes.properties == {"quality": "bronze", "owner": "me"}
    assert _steps(plan) == ["alter_table bronze", "run_streaming_flow bronze/bronze"]


def test_a_full_refresh_starts_the_next_generation(pipeline: Pipeline) -> None:
    _medallion(pipeline).existing(generation=4)
    pipeline.checkpoints[Identifier("shop", "silver")] = 9  # left by an update that did not get to the table
    plan = pipeline.plan(everything=True)
    assert _steps(plan)[:3] == ["reset_table bronze", "run_streaming_flow bronze/bronze", "reset_table silver"]
    assert _generations(plan) == {"bronze": 5, "silver": 10}
    assert [stage.properties[GENERATION] for stage in plan.of_type(ResetTable)] == ["5", "10"]


def test_a_table_without_any_checkpoint_starts_with_the_generation_after_its_own(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").existing().checkpoints.clear()
    assert _generations(pipeline.plan(full_refresh=("bronze",))) == {"bronze": 1}


def test_the_checkpoints_of_a_table_deleted_by_hand_are_not_used(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").checkpoints[Identifier("shop", "bronze")] = 2
    plan = pipeline.plan()
    assert _steps(plan) == ["create_table bronze", "run_streaming_flow bronze/bronze"]
    assert _generations(plan) == {"bronze": 3}
    assert plan.of_type(CreateTable)[0].properties[GENERATION] == "3"


def test_a_selection_leaves_the_rest_as_it_is(pipeline: Pipeline) -> None:
    plan = _medallion(pipeline).existing("bronze").plan(refresh=("SILVER", "`shop`.gold"))
    assert _steps(plan) == [
        "exclude bronze",
        "create_table silver",
        "run_streaming_flow silver/silver",
        "create_table gold",
        "refresh_materialized_view gold/gold",
    ]
    assert plan.of_type(RunStreamingFlow)[0].after == ()


def test_a_full_refresh_by_name_refreshes_only_what_is_named(pipeline: Pipeline) -> None:
    plan = _medallion(pipeline).existing().plan(full_refresh=("silver",), refresh=("gold",))
    assert _steps(plan) == [
        "exclude bronze",
        "reset_table silver",
        "run_streaming_flow silver/silver",
        "refresh_materialized_view gold/gold",
    ]


def test_errors_of_a_selection(pipeline: Pipeline) -> None:
    _medallion(pipeline).view("recent", "bronze*")
    with pytest.raises(ConfigError) as both:
        RefreshSelection(refresh=("bronze",), full_refresh_all=True)
    assert both.value.condition == "CONFLICTING_PIPELINE_REFRESH_OPTIONS"
    for wrong, suggestion in {
        "brnoze": "Did you mean 'bronze'?",
        "nowhere_to_be_found": "The pipeline's tables and sinks: shop.bronze, shop.gold, shop.silver.",
        "recent": "The pipeline's tables and sinks: shop.bronze, shop.gold, shop.silver.",
    }.items():
        for chosen in (RefreshSelection(refresh=(wrong,)), RefreshSelection(full_refresh=(wrong,))):
            with pytest.raises(ConfigError) as unknown:
                chosen.resolve(pipeline.graph, default_schema="shop")
            assert unknown.value.condition == "UNKNOWN_DATASET_SELECTED"
            assert unknown.value.facts == {"name": wrong, "suggestion": suggestion}
            assert unknown.value.exit_code == 2


@pytest.mark.parametrize("value", ["false", "False", "FALSE"])
def test_a_protected_table_is_passed_over_by_all_and_refused_by_name(pipeline: Pipeline, value: str) -> None:
    pipeline.stream("bronze", properties={"pipelines.reset.allowed": value}).stream("silver", "bronze*").existing()
    assert _steps(pipeline.plan(everything=True)) == [
        "run_streaming_flow bronze/bronze",
        "reset_table silver",
        "run_streaming_flow silver/silver",
    ]
    with pytest.raises(StateError) as refused:
        pipeline.plan(full_refresh=("bronze", "silver"))
    assert (refused.value.condition, refused.value.facts) == ("RESET_NOT_ALLOWED", {"name": "shop.bronze"})
    assert (refused.value.exit_code, refused.value.dataset) == (3, "shop.bronze")


def test_a_table_that_changed_its_kind_is_refused(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").existing(kind="MATERIALIZED_VIEW")
    with pytest.raises(StateError) as changed:
        pipeline.plan()
    assert (changed.value.condition, changed.value.dataset) == ("DATASET_TYPE_CHANGED", "shop.bronze")
    assert changed.value.facts == {
        "name": "shop.bronze",
        "was": "materialized view",
        "wanted": "streaming table",
        "path": "/lake/bronze",
    }


def test_once_flows_run_once_per_generation(pipeline: Pipeline) -> None:
    pipeline.stream("orders").flow("backfill", "parquet:/old", into="orders", kind=FlowType.APPEND_ONCE)
    first = pipeline.plan()
    assert _steps(first)[-1] == "run_once_flow orders/backfill"
    pipeline.existing().done_once.add((Identifier("shop", "orders"), "backfill"))
    second = pipeline.plan()
    assert _steps(second) == ["run_streaming_flow orders/orders", "exclude orders"]
    assert second.stages[-1].explanation == "once-flow backfill already ran"
    again = pipeline.plan(full_refresh=("orders",))
    assert [stage.generation for stage in again.of_type(RunOnceFlow)] == [1]


def test_which_flows_run_while_their_input_is_filled(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").stream("other").materialized("lookup", "bronze")
    pipeline.view("recent", "bronze*").view("mixed", "bronze*", "lookup")
    pipeline.stream("stateless", "bronze*").stream("through_view", "recent*").stream("two", "bronze*", "other*")
    pipeline.stream("stateful", "bronze*", stateful=("deduplicate",)).stream("complete", "bronze*", complete=True)
    pipeline.stream("joins_batch", "bronze*", "lookup").stream("joins_in_view", "mixed*")
    pipeline.stream("and_kafka", "bronze*", "kafka:orders*").stream("own_history", "bronze*", "own_history")
    stages = {stage.dataset.name: stage for stage in pipeline.plan().of_type(RunStreamingFlow)}
    assert {name for name, stage in stages.items() if stage.overlap} == {"stateless", "through_view", "two"}
    after = {name: [each.name for each in stage.after] for name, stage in stages.items()}
    assert after["through_view"] == ["bronze"]
    assert after["joins_in_view"] == ["bronze", "lookup"]
    assert after["own_history"] == ["bronze"]
    assert after["bronze"] == []
    alone = pipeline.plan(overlap=False).of_type(RunStreamingFlow)
    assert not any(stage.overlap for stage in alone)
    assert {stage.dataset.name: [each.name for each in stage.after] for stage in alone} == after


class TestFullRefreshOfAStreamedTable:
    def _refused(self, pipeline: Pipeline, *names: str, everything: bool = False) -> dict[str, str]:
        with pytest.raises(StateError) as error:
            pipeline.plan(full_refresh=names, everything=everything)
        assert (error.value.condition, error.value.exit_code) == ("FULL_REFRESH_BREAKS_READERS", 3)
        return error.value.facts

    def test_is_refused_with_the_command_that_works(self, pipeline: Pipeline) -> None:
        _medallion(pipeline).view("recent", "silver*").view("most_recent", "recent*")
        pipeline.stream("late", "most_recent*").stream("alerts", "bronze*").existing()
        assert self._refused(pipeline, "bronze") == {
            "name": "shop.bronze",
            "readers": "shop.silver, shop.alerts",
            "command": "penstock run --full-refresh shop.bronze --full-refresh shop.silver --full-refresh shop.late "
            "--full-refresh shop.alerts",
        }
        assert self._refused(pipeline, "silver")["readers"] == "shop.late"
        assert self._refused(pipeline, "bronze", "silver")["readers"] == "shop.alerts"
        together = ("bronze", "silver", "late", "alerts")
        assert len(pipeline.plan(full_refresh=together).of_type(ResetTable)) == 4
        assert len(pipeline.plan(everything=True).of_type(ResetTable)) == 4

    def test_a_deleted_table_is_another_table_to_its_readers(self, pipeline: Pipeline) -> None:
        _medallion(pipeline).existing("silver", "gold").checkpoints[Identifier("shop", "bronze")] = 0
        facts = self._refused(pipeline)
        assert (facts["name"], facts["readers"]) == ("shop.bronze", "shop.silver")
        assert facts["command"] == "penstock run --full-refresh shop.bronze --full-refresh shop.silver"
        assert _steps(pipeline.plan(full_refresh=("bronze", "silver")))[0] == "create_table bronze"
        assert _steps(pipeline.plan(refresh=("gold",)))[-1] == "refresh_materialized_view gold/gold"

    def test_does_not_concern_batch_readers_and_tables_that_do_not_exist(self, pipeline: Pipeline) -> None:
        _medallion(pipeline).stream("joins", "kafka:orders*", "bronze").existing("bronze", "gold", "joins")
        assert _steps(pipeline.plan(full_refresh=("bronze",)))[:2] == [
            "reset_table bronze",
            "run_streaming_flow bronze/bronze",
        ]

    def test_does_not_concern_a_table_that_is_created(self, pipeline: Pipeline) -> None:
        _medallion(pipeline).existing("silver", "gold")
        assert _steps(pipeline.plan(full_refresh=("bronze",)))[0] == "create_table bronze"

    def test_protected_readers_protect_what_they_read(self, pipeline: Pipeline) -> None:
        pipeline.stream("bronze").stream("silver", "bronze*", properties={"pipelines.reset.allowed": "false"})
        pipeline.stream("clicks").stream("odd name", "clicks*").existing()
        facts = self._refused(pipeline, everything=True)
        assert facts["readers"] == "shop.silver"
        assert facts["command"] == "penstock run --full-refresh shop.clicks --full-refresh 'shop.odd name'"
        assert self._refused(pipeline, "bronze")["command"] == "penstock run"

    def test_a_table_that_reads_itself_is_no_reader_of_its_own(self, pipeline: Pipeline) -> None:
        pipeline.stream("clicks", "kafka:clicks*", "clicks*").existing()
        assert _generations(pipeline.plan(full_refresh=("clicks",))) == {"clicks": 1}


def test_a_sink_waits_for_its_tables_and_has_no_table_of_its_own(pipeline: Pipeline) -> None:
    _medallion(pipeline).sink("out", "silver*").flow("more", "bronze*", into="out")
    plan = pipeline.plan()
    assert _steps(plan)[-2:] == ["run_sink_flow out/out", "run_sink_flow out/more"]
    assert [stage.after for stage in plan.of_type(RunSinkFlow)] == [
        (Identifier("shop", "silver"),),
        (Identifier("shop", "bronze"),),
    ]
    assert [stage.generation for stage in plan.of_type(RunSinkFlow)] == [0, 0]
    left_out = pipeline.existing().plan(refresh=("bronze",))
    assert "exclude out" in _steps(left_out)
    assert left_out.stages[-1].explanation == "not selected; stays as it is"
    assert _steps(pipeline.plan(refresh=("out",))) == [
        *(f"exclude {name}" for name in ("bronze", "silver", "gold")),
        "run_sink_flow out/out",
        "run_sink_flow out/more",
    ]


def test_a_full_refresh_gives_all_flows_of_a_sink_the_next_generation(pipeline: Pipeline) -> None:
    _medallion(pipeline).sink("out", "silver*").existing(generation=2)
    sink = Identifier("shop", "out")
    pipeline.checkpoints[sink] = 6
    assert [stage.generation for stage in pipeline.plan().of_type(RunSinkFlow)] == [6]
    [stage] = pipeline.plan(full_refresh=("out",)).of_type(RunSinkFlow)
    assert stage.generation == 7
    assert "what the sink holds is not cleaned" in stage.explanation
    assert [stage.generation for stage in pipeline.plan(everything=True).of_type(RunSinkFlow)] == [7]


def test_a_sink_must_start_anew_with_what_it_streams_from(pipeline: Pipeline) -> None:
    _medallion(pipeline).sink("out", "silver*").existing()
    assert "reset_table silver" in _steps(pipeline.plan(full_refresh=("silver",))), "the sink has no checkpoint yet"
    pipeline.checkpoints[Identifier("shop", "out")] = 0
    with pytest.raises(StateError) as alone:
        pipeline.plan(full_refresh=("silver",))
    assert alone.value.condition == "FULL_REFRESH_BREAKS_READERS"
    assert alone.value.facts["command"] == "penstock run --full-refresh shop.silver --full-refresh shop.out"
    assert _steps(pipeline.plan(full_refresh=("silver", "out")))[-1] == "run_sink_flow out/out"


def test_a_private_table_is_marked_and_loses_the_mark(pipeline: Pipeline) -> None:
    pipeline.stream("bronze", private=True)
    assert pipeline.plan().of_type(CreateTable)[0].properties[PRIVATE] == "true"
    pipeline.existing()
    bronze = Identifier("shop", "bronze")
    stored = pipeline.stored[bronze]
    pipeline.stored[bronze] = replace(stored, properties={**stored.properties, PRIVATE: "true"})
    assert not pipeline.plan().of_type(AlterTable)
    pipeline.flows.clear()
    pipeline.stream("bronze")
    assert pipeline.plan().of_type(AlterTable)[0].changes.properties == {PRIVATE: "false"}


@pytest.mark.parametrize(
    ("chosen", "as_full_refresh"),
    [
        (RefreshSelection(), RefreshSelection(full_refresh_all=True)),
        (RefreshSelection(full_refresh_all=True), RefreshSelection(full_refresh_all=True)),
        (RefreshSelection(("a",), ("b",)), RefreshSelection(full_refresh=("a", "b"))),
    ],
)
def test_full_refresh_of_a_selection_keeps_what_was_chosen(
    chosen: RefreshSelection, as_full_refresh: RefreshSelection
) -> None:
    assert chosen.as_full_refresh() == as_full_refresh
