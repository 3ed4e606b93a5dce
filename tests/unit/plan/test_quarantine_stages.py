"""The quarantine of a table is made with the table and emptied with it, whatever crashed in between."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.plan.conftest import Pipeline

from penstock.errors import StateError
from penstock.graph.companions.quarantine import quarantine_schema
from penstock.graph.companions.quarantining import with_event_parts
from penstock.graph.identifier import Identifier
from penstock.graph.protection import PRIVATE, ROW_FILTER, FunctionCall
from penstock.graph.resolved import AppliedChanges
from penstock.graph.schema.table_schema import Schema
from penstock.plan.change_capture import change_properties
from penstock.plan.companion_tables import QUARANTINE
from penstock.plan.stages import (
    AlterTable,
    CreateTable,
    FlowStage,
    RefreshMaterializedView,
    ResetTable,
    RunStreamingFlow,
)
from penstock.plan.state import DATASET_TYPE, GENERATION, TableState

_ASIDE = Identifier("shop", "orders__quarantine")


def _set_up(pipeline: Pipeline, *, full_refresh: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    """Returns kind, table and generation of what is set up."""
    plan = pipeline.plan(full_refresh=full_refresh)
    stages = [stage for stage in plan.stages if isinstance(stage, (CreateTable, ResetTable))]
    return [(stage.kind, stage.dataset.name, stage.properties[GENERATION]) for stage in stages]


def _with_quarantine(pipeline: Pipeline, *, generation: int, aside: int | None) -> Pipeline:
    pipeline.stream("orders", quarantines=True).existing(generation=generation)
    if aside is not None:
        state = pipeline.stored[Identifier("shop", "orders")]
        properties = {DATASET_TYPE: QUARANTINE, GENERATION: str(aside)}
        pipeline.stored[_ASIDE] = TableState(
            "/lake/orders__quarantine",
            quarantine_schema([state.schema]),
            1,
            properties,
            comment="Rows that break an expectation of shop.orders",
        )
    return pipeline


def test_it_is_created_beside_its_table_with_columns_of_its_own(pipeline: Pipeline) -> None:
    pipeline.stream("orders", quarantines=True).stream("visits")
    assert _set_up(pipeline) == [
        ("create_table", "orders", "0"),
        ("create_table", "orders__quarantine", "0"),
        ("create_table", "visits", "0"),
    ]
    aside = pipeline.plan().of_type(CreateTable)[1]
    assert aside.path == "/lake/orders__quarantine"
    assert [str(column.type) for column in aside.schema.columns] == [
        "bigint",
        "string",
        "array<string>",
        "string",
        "bigint",
        "timestamp",
        "struct<file_path:string,topic:string,partition:int,offset:bigint>",
        "string",
    ]
    assert aside.schema.names[:3] == ("id", "_quarantine_id", "_quarantine_rules")


def test_a_rule_added_later_adds_the_quarantine(pipeline: Pipeline) -> None:
    assert _set_up(_with_quarantine(pipeline, generation=3, aside=None)) == [
        ("create_table", "orders__quarantine", "3")
    ]


def test_nothing_is_set_up_when_both_are_of_one_generation(pipeline: Pipeline) -> None:
    assert _set_up(_with_quarantine(pipeline, generation=3, aside=3)) == []
    assert pipeline.plan().of_type(AlterTable) == ()


def test_what_readers_may_not_see_of_the_table_they_may_not_see_of_the_quarantine(pipeline: Pipeline) -> None:
    _with_quarantine(pipeline, generation=3, aside=3)
    orders = Identifier("shop", "orders")
    pipeline.tables[orders] = replace(pipeline.tables[orders], row_filter=FunctionCall("`mine`", ("`id`",)))
    altered = {stage.dataset: stage.changes.properties for stage in pipeline.plan().of_type(AlterTable)}
    assert altered == {orders: {ROW_FILTER: "`mine`(`id`)"}, _ASIDE: {ROW_FILTER: "`mine`(`id`)"}}


def test_the_quarantine_of_a_private_table_is_private(pipeline: Pipeline) -> None:
    pipeline.stream("orders", quarantines=True, private=True)
    created = {stage.dataset: stage.properties.get(PRIVATE) for stage in pipeline.plan().of_type(CreateTable)}
    assert created == {Identifier("shop", "orders"): "true", _ASIDE: "true"}
    pipeline.flows.clear()
    _with_quarantine(pipeline, generation=3, aside=3)
    before = pipeline.stored[_ASIDE]
    pipeline.stored[_ASIDE] = replace(before, properties={**before.properties, PRIVATE: "true"})
    altered = {stage.dataset: stage.changes.properties for stage in pipeline.plan().of_type(AlterTable)}
    assert altered == {_ASIDE: {PRIVATE: "false"}}


def test_it_takes_the_types_and_columns_of_the_queries(pipeline: Pipeline) -> None:
    _with_quarantine(pipeline, generation=3, aside=3)
    orders = Identifier("shop", "orders")
    before = pipeline.stored[_ASIDE]
    wider = {"delta.enableTypeWidening": "true", "delta.columnMapping.mode": "name"}
    properties = {**wider, "delta.appendOnly": "true"}
    pipeline.tables[orders] = replace(pipeline.tables[orders], table_properties=properties)
    narrow = before.schema.json.replace('"name": "id", "type": "long"', '"name": "id", "type": "integer"')
    pipeline.stored[_ASIDE] = replace(before, schema=Schema(narrow))
    [changes] = [stage.changes for stage in pipeline.plan().of_type(AlterTable) if stage.dataset == _ASIDE]
    assert (changes.widened, changes.properties) == ({"id": "bigint"}, wider)


def test_that_of_changes_takes_the_columns_of_the_events(pipeline: Pipeline) -> None:
    applied = AppliedChanges(keys=("id bigint",), sequence_type="bigint", scd_type=1)
    fields = [{"name": n, "type": t, "nullable": False, "metadata": {}} for n, t in (("id", "long"), ("op", "string"))]
    events = Schema(json.dumps({"type": "struct", "fields": fields}))
    pipeline.changes("customers", applied=applied, events=events)
    customers, aside = Identifier("shop", "customers"), Identifier("shop", "customers__quarantine")
    pipeline.tables[customers] = with_event_parts(pipeline.tables[customers], pipeline.flows)
    created = {stage.dataset: stage for stage in pipeline.plan().of_type(CreateTable)}
    assert created[customers].schema.names == ("id",)
    assert created[aside].schema.names[:3] == ("id", "op", "_quarantine_id")

    pipeline.existing("customers")
    stored = pipeline.stored[customers]
    noted = {**stored.properties, **change_properties(pipeline.graph, customers)}
    pipeline.stored[customers] = replace(stored, properties=noted)
    old = quarantine_schema([Schema(events.json.replace('"string"', '"long"').replace('"id"', '"at"'))])
    properties = {DATASET_TYPE: QUARANTINE, GENERATION: "0"}
    pipeline.stored[aside] = TableState("/lake/customers__quarantine", old, 1, properties)
    [changes] = [stage.changes for stage in pipeline.plan().of_type(AlterTable) if stage.dataset == aside]
    assert list(changes.columns) == ["id"], "op, which is in no table, keeps its type"


def test_a_reader_waits_for_the_flows_of_the_table(pipeline: Pipeline) -> None:
    _with_quarantine(pipeline, generation=3, aside=3)
    pipeline.stream("fixes", "orders__quarantine*").materialized("rules", "orders__quarantine").existing("fixes")
    plan = pipeline.plan()
    orders = Identifier("shop", "orders")
    assert {stage.dataset.name: stage.after for stage in plan.of_type(FlowStage)} == {
        "orders": (),
        "fixes": (orders,),
        "rules": (orders,),
    }
    fixes, rules = plan.of_type(RunStreamingFlow)[1], plan.of_type(RefreshMaterializedView)[0]
    assert fixes.overlap
    assert fixes.explanation == "append: reads shop.orders__quarantine"
    assert rules.inputs == {"shop.orders__quarantine": "/lake/orders__quarantine"}
    with pytest.raises(StateError) as refused:
        pipeline.plan(full_refresh=("orders",))
    assert refused.value.condition == "FULL_REFRESH_BREAKS_READERS"
    assert refused.value.facts["readers"] == "shop.fixes"


def test_a_full_refresh_empties_both(pipeline: Pipeline) -> None:
    assert _set_up(_with_quarantine(pipeline, generation=3, aside=3), full_refresh=("orders",)) == [
        ("reset_table", "orders", "4"),
        ("reset_table", "orders__quarantine", "4"),
    ]


def test_what_a_crash_left_is_emptied_by_the_next_update(pipeline: Pipeline) -> None:
    assert _set_up(_with_quarantine(pipeline, generation=4, aside=3)) == [("reset_table", "orders__quarantine", "4")]
