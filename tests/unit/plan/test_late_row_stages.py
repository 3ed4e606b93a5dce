"""The late rows of a table are emptied with it, and are for nobody who may not read it."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.plan.conftest import Pipeline

from penstock.graph.companions.late_rows import LATE_ROWS, late_rows_of
from penstock.graph.identifier import Identifier
from penstock.graph.protection import PRIVATE, ROW_FILTER, FunctionCall
from penstock.plan.companion_tables import late_table
from penstock.plan.stages import AlterTable, CreateTable, ResetTable
from penstock.plan.state import DATASET_TYPE, GENERATION, TableState

ORDERS = Identifier("shop", "orders")
LATE = late_rows_of(ORDERS)


def _with_late_rows(pipeline: Pipeline, *, late: int, kind: str = LATE_ROWS) -> Pipeline:
    pipeline.stream("orders").existing(generation=2)
    properties = {DATASET_TYPE: kind, GENERATION: str(late)}
    schema, comment = pipeline.stored[ORDERS].schema, late_table(pipeline.tables[ORDERS]).comment
    pipeline.stored[LATE] = TableState("/lake/orders__late", schema, 1, properties, comment=comment)
    return pipeline


def _changed(pipeline: Pipeline, *, full_refresh: tuple[str, ...] = ()) -> list[ResetTable | AlterTable]:
    stages = pipeline.plan(full_refresh=full_refresh).stages
    assert not any(isinstance(stage, CreateTable) and stage.dataset == LATE for stage in stages)
    return [stage for stage in stages if isinstance(stage, (ResetTable, AlterTable)) and stage.dataset == LATE]


def test_there_is_none_before_the_first_late_row(pipeline: Pipeline) -> None:
    assert _changed(pipeline.stream("orders")) == []
    assert _changed(pipeline.existing(), full_refresh=("orders",)) == []


def test_they_are_emptied_with_their_table_also_after_a_crash_in_between(pipeline: Pipeline) -> None:
    assert _changed(_with_late_rows(pipeline, late=2)) == []
    [emptied] = _changed(pipeline, full_refresh=("orders",))
    assert isinstance(emptied, ResetTable)
    assert (emptied.path, emptied.properties[GENERATION]) == ("/lake/orders__late", "3")
    [emptied] = _changed(_with_late_rows(pipeline, late=1))
    assert isinstance(emptied, ResetTable)
    assert (emptied.kind, emptied.properties[GENERATION]) == ("reset_table", "2")


def test_another_table_of_that_name_is_left_alone(pipeline: Pipeline) -> None:
    assert _changed(_with_late_rows(pipeline, late=1, kind="STREAMING_TABLE"), full_refresh=("orders",)) == []


def test_they_are_for_the_readers_of_the_table(pipeline: Pipeline) -> None:
    _with_late_rows(pipeline, late=2)
    protected = FunctionCall("f", ("id",))
    pipeline.tables[ORDERS] = replace(pipeline.tables[ORDERS], row_filter=protected, temporary=True)
    [altered] = _changed(pipeline)
    assert isinstance(altered, AlterTable)
    assert altered.changes.properties == {ROW_FILTER: "f(id)", PRIVATE: "true"}


def test_they_lose_the_protection_that_their_table_no_longer_declares(pipeline: Pipeline) -> None:
    _with_late_rows(pipeline, late=2)
    before = pipeline.stored[LATE]
    protected = {**before.properties, ROW_FILTER: "f(id)", PRIVATE: "true"}
    pipeline.stored[LATE] = replace(before, properties=protected)
    [altered] = _changed(pipeline)
    assert isinstance(altered, AlterTable)
    assert altered.changes.properties == {ROW_FILTER: "", PRIVATE: "false"}
