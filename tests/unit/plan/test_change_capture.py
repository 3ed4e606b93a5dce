"""What a target of change flows remembers of them in its properties, and what is refused therefore."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.conftest import Pipeline

from penstock.errors import StateError
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import AppliedChanges
from penstock.plan.explain import render_plan
from penstock.plan.stages import AlterTable, CreateTable, ResetTable, RunOnceFlow, RunSnapshotFlow, RunStreamingFlow
from penstock.plan.state import TableState

NEWEST = AppliedChanges(keys=("id bigint",), sequence_type="timestamp", scd_type=1)
TABLE = Identifier("shop", "customers")


def stored(pipeline: Pipeline, applied: AppliedChanges) -> Pipeline:
    """The target as a run with other settings left it."""
    created = Pipeline().changes("customers", applied=applied).plan().of_type(CreateTable)[0]
    pipeline.existing()
    pipeline.stored[TABLE] = replace(pipeline.stored[TABLE], properties=created.properties)
    return pipeline


def test_a_target_has_a_change_feed_and_remembers_its_keys(pipeline: Pipeline) -> None:
    plan = pipeline.changes("customers", applied=NEWEST).plan()
    properties = plan.of_type(CreateTable)[0].properties
    assert properties["delta.enableChangeDataFeed"] == "true"
    assert properties["penstock.cdc.keys"] == "id bigint"
    assert properties["penstock.cdc.scd_type"] == "1"
    [stage] = plan.of_type(RunStreamingFlow)
    assert stage.explanation.startswith("apply changes: ")
    assert not stage.overlap


def test_the_same_settings_go_on(pipeline: Pipeline) -> None:
    plan = stored(pipeline.changes("customers", applied=NEWEST), NEWEST).plan()
    assert [stage.kind for stage in plan.stages] == ["run_streaming_flow"]


@pytest.mark.parametrize(
    ("before", "what"),
    [
        (replace(NEWEST, keys=("id bigint", "part string")), "the keys"),
        (replace(NEWEST, keys=("id int",)), "the keys"),
        (replace(NEWEST, scd_type=2), "the SCD type"),
        (replace(NEWEST, sequence_type="bigint"), "the type of the sequence"),
        (replace(NEWEST, ignoring=("name",)), "what is remembered of older events"),
        (replace(NEWEST, partial=True), "whether events name the columns that they update"),
    ],
)
def test_other_settings_need_a_full_refresh(pipeline: Pipeline, before: AppliedChanges, what: str) -> None:
    stored(pipeline.changes("customers", applied=NEWEST), before)
    with pytest.raises(StateError) as refused:
        pipeline.plan()
    assert (refused.value.condition, refused.value.dataset) == ("CHANGE_CAPTURE_CHANGED", "shop.customers")
    assert refused.value.location == pipeline.tables[TABLE].location
    assert str(refused.value.facts["what"]).startswith(what)
    assert "--full-refresh shop.customers" in refused.value.fix
    anew = pipeline.plan(full_refresh=("customers",))
    [reset] = anew.of_type(ResetTable)
    assert reset.properties["penstock.cdc.keys"] == "id bigint"
    assert anew.of_type(RunStreamingFlow)[0].generation == 1


def test_appended_rows_do_not_become_rows_by_key(pipeline: Pipeline) -> None:
    pipeline.changes("customers", applied=NEWEST).existing()
    with pytest.raises(StateError) as refused:
        pipeline.plan()
    assert (refused.value.condition, refused.value.facts["was"]) == ("CHANGE_CAPTURE_CHANGED", "none")


def test_rows_by_key_do_not_become_appended_rows(pipeline: Pipeline) -> None:
    stored(pipeline.stream("customers"), NEWEST)
    with pytest.raises(StateError) as refused:
        pipeline.plan()
    assert (refused.value.condition, refused.value.facts["now"]) == ("CHANGE_CAPTURE_CHANGED", "none")


def test_a_change_feed_switched_off_by_its_owner_stays_off(pipeline: Pipeline) -> None:
    stored(pipeline.changes("customers", applied=NEWEST), NEWEST)
    owned = replace(pipeline.tables[TABLE], table_properties={"delta.enableChangeDataFeed": "false"})
    pipeline.tables[TABLE] = owned
    [altered] = pipeline.plan().of_type(AlterTable)
    assert altered.changes.properties == {"delta.enableChangeDataFeed": "false"}


def test_a_once_flow_applies_its_changes_one_time(pipeline: Pipeline) -> None:
    pipeline.changes("customers", applied=NEWEST, once=True)
    assert len(pipeline.plan().of_type(RunOnceFlow)) == 1
    stored(pipeline, NEWEST)
    pipeline.done_once.add((TABLE, "customers"))
    assert pipeline.plan().of_type(RunOnceFlow) == ()
    assert isinstance(pipeline.stored[TABLE], TableState)


def test_snapshots_are_compared_after_what_they_read(pipeline: Pipeline) -> None:
    plan = pipeline.stream("bronze").snapshots("copy", "bronze", applied=NEWEST).plan()
    [stage] = plan.of_type(RunSnapshotFlow)
    assert (stage.after, stage.generation) == ((Identifier("shop", "bronze"),), 0)
    assert render_plan(plan).splitlines()[-1].split()[:2] == ["compare", "shop.copy"]
