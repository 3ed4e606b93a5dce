"""The quarantine of a table is made with the table and emptied with it, whatever crashed in between."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.plan.conftest import Pipeline

from penstock.graph.identifier import Identifier
from penstock.graph.protection import ROW_FILTER, FunctionCall
from penstock.graph.quarantine import quarantine_schema
from penstock.graph.schema import Schema
from penstock.plan.quarantine_stages import QUARANTINE
from penstock.plan.stages import AlterTable, CreateTable, ResetTable
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


def test_it_takes_the_types_and_columns_of_the_queries(pipeline: Pipeline) -> None:
    _with_quarantine(pipeline, generation=3, aside=3)
    orders = Identifier("shop", "orders")
    before = pipeline.stored[_ASIDE]
    wider = {"delta.enableTypeWidening": "true"}
    pipeline.tables[orders] = replace(pipeline.tables[orders], table_properties=wider)
    narrow = before.schema.json.replace('"name": "id", "type": "long"', '"name": "id", "type": "integer"')
    pipeline.stored[_ASIDE] = replace(before, schema=Schema(narrow))
    [changes] = [stage.changes for stage in pipeline.plan().of_type(AlterTable) if stage.dataset == _ASIDE]
    assert (changes.widened, changes.properties) == ({"id": "bigint"}, wider)


def test_a_full_refresh_empties_both(pipeline: Pipeline) -> None:
    assert _set_up(_with_quarantine(pipeline, generation=3, aside=3), full_refresh=("orders",)) == [
        ("reset_table", "orders", "4"),
        ("reset_table", "orders__quarantine", "4"),
    ]


def test_what_a_crash_left_is_emptied_by_the_next_update(pipeline: Pipeline) -> None:
    assert _set_up(_with_quarantine(pipeline, generation=4, aside=3)) == [("reset_table", "orders__quarantine", "4")]
