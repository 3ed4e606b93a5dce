"""Row filters and masks as they are written, and as they are kept in the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.declare.conftest import Load

from penstock.declare import load_pipeline
from penstock.graph.elements import Table
from penstock.graph.protection import MASKS, ROW_FILTER, Protection, protection_properties, stored_protection


def _table(load: Load, options: str) -> Table:
    registry = load(f"import dlt\n@dlt.table({options})\ndef t(): ...\n")
    assert list(registry.errors) == []
    [table] = registry.datasets
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("ROW FILTER keeps ON (region)", "`keeps`(`region`)"),
        (
            "with row filter main.sec.keeps on (`odd ``name`, 'it''s', 5, TRUE)",
            "`keeps`(`odd ``name`, 'it''s', 5, TRUE)",
        ),
        ("ROW FILTER f ON ()", "`f`()"),
    ],
)
def test_row_filters(load: Load, text: str, sql: str) -> None:
    found = _table(load, f"row_filter={text!r}").row_filter
    assert found is not None
    assert found.sql == sql


def test_masks_leave_the_schema(load: Load) -> None:
    table = _table(
        load,
        "schema=\"id INT NOT NULL, name STRING MASK sec.hide USING COLUMNS (id, 2) COMMENT 'who', x INT MASK `f`\"",
    )
    assert table.schema == "id INT NOT NULL, name STRING COMMENT 'who', x INT"
    assert {mask.column: mask.call.sql for mask in table.masks} == {"name": "`hide`(`name`, `id`, 2)", "x": "`f`(`x`)"}
    properties = protection_properties(None, table.masks)
    assert stored_protection(properties) == Protection(None, {"name": "`hide`(`name`, `id`, 2)", "x": "`f`(`x`)"})


@pytest.mark.parametrize(
    "text", ["keeps(region)", "ROW FILTER keeps", "ROW FILTER f ON (a) OR 1=1", "ROW FILTER f ON (a"]
)
def test_a_row_filter_that_cannot_be_read(load: Load, text: str) -> None:
    registry = load(f"import dlt\n@dlt.table(row_filter={text!r})\ndef t(): ...\n")
    [error] = registry.errors
    assert (error.condition, error.facts["text"], error.location and error.location.line) == (
        "INVALID_ROW_FILTER",
        text,
        2,
    )


def test_a_mask_that_cannot_be_read(load: Load) -> None:
    registry = load('import dlt\ndlt.create_streaming_table("t", schema="id INT MASK f USING id")\n')
    [error] = registry.errors
    assert error.condition == "PARSE_SYNTAX_ERROR"


def test_a_damaged_property_opens_nothing() -> None:
    assert stored_protection({}) is None
    assert stored_protection({ROW_FILTER: "", MASKS: ""}) is None
    for damaged in ("{", "[]", '"f"'):
        with pytest.raises(ValueError):  # noqa: PT011 - of json or ours
            stored_protection({MASKS: damaged})


def test_sql_clauses(tmp_path: Path) -> None:
    file = tmp_path / "people.sql"
    file.write_text(
        "CREATE MATERIALIZED VIEW people (id INT, name STRING MASK hide USING COLUMNS (id)) "
        "WITH ROW FILTER sec.keeps ON (id, 'a') AS SELECT 1 AS id, 'x' AS name"
    )
    registry = load_pipeline([file], root=tmp_path)
    assert list(registry.errors) == []
    [table] = registry.datasets
    assert isinstance(table, Table)
    assert protection_properties(table.row_filter, table.masks) == {
        ROW_FILTER: "`keeps`(`id`, 'a')",
        MASKS: '{"name": "`hide`(`name`, `id`)"}',
    }
