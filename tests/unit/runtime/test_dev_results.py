"""How two results of a dataset differ."""

from __future__ import annotations

import json
from typing import Any, cast

from pyspark.sql import DataFrame

from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.runtime.dev.results import SampleResult, compare_results


def result(columns: dict[str, str], *rows: tuple[Any, ...]) -> SampleResult:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    schema = Schema(json.dumps({"type": "struct", "fields": fields}))
    return SampleResult(Identifier("shop", "orders"), "VIEW", schema, rows, cast("DataFrame", None))


TWO = {"id": "long", "name": "string"}


def test_the_same_rows_in_another_order_are_no_change() -> None:
    assert compare_results(result(TWO, (1, "a"), (2, "b")), result(TWO, (2, "b"), (1, "a"))).none


def test_each_row_counts_as_often_as_it_is_there() -> None:
    change = compare_results(result(TWO, (1, "a"), (1, "a"), (2, "b")), result(TWO, (1, "a"), (3, "c")))
    assert (change.rows.equal, change.rows.only_left, change.rows.only_right) == (1, 2, 1)
    assert {(row.in_left, row.times, row.values) for row in change.rows.rows} == {
        (True, 1, (1, "a")),
        (True, 1, (2, "b")),
        (False, 1, (3, "c")),
    }


def test_a_new_column_is_named_and_rows_are_compared_without_it() -> None:
    change = compare_results(
        result({"id": "long", "old": "long"}, (1, 7)), result({"id": "long", "new": "long"}, (1, 8))
    )
    assert change.columns == ("- old bigint", "+ new bigint")
    assert change.rows.same
    assert not change.none


def test_a_column_of_another_type() -> None:
    change = compare_results(result({"id": "long"}, (1,)), result({"id": "string"}, ("1",)))
    assert change.columns == ("id bigint -> string",)
    assert (change.rows.only_left, change.rows.only_right) == (1, 1)


def test_values_that_cannot_be_keys() -> None:
    nested = {"id": "long"}
    assert compare_results(result(nested, ({"a": [1]},)), result(nested, ({"a": [1]},))).none


def test_both_sides_are_among_the_rows_shown() -> None:
    before, after = result(TWO, *((n, "a") for n in range(50))), result(TWO, *((n, "b") for n in range(50)))
    shown = compare_results(before, after, limit=10).rows.rows
    assert [row.in_left for row in shown] == [True] * 5 + [False] * 5
