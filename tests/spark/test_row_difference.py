"""Two results are compared row by row, as often as each row is there."""

from __future__ import annotations

import math

from pyspark.sql import SparkSession

from penstock.spark.plans.row_difference import compare_rows

SCHEMA = "id INT, price DOUBLE, tags MAP<STRING, INT>, at STRUCT<x: INT>"


def test_each_row_counts_as_often_as_it_is_there(spark: SparkSession) -> None:
    same = [(1, math.nan, {"a": 1, "b": 2}, (1,)), (2, None, None, None), (2, None, None, None)]
    left = spark.createDataFrame([*same, (2, None, None, None), (4, 0.5, {"a": 1}, (1,))], SCHEMA)
    right = spark.createDataFrame([(3, -0.0, {}, (None,)), *same, (4, 0.5, {"a": 2}, (1,))], SCHEMA)
    found = compare_rows(left, right, limit=20)
    assert (found.columns, found.same) == (("id", "price", "tags", "at"), False)
    assert (found.equal, found.only_left, found.only_right) == (3, 2, 2)
    told = [(row.in_left, row.times, row.values[0], row.values[2]) for row in found.rows]
    assert told[:2] == [(True, 1, 2, None), (False, 1, 3, "{}")]
    assert told[2:] == [(True, 1, 4, '{"a":1}'), (False, 1, 4, '{"a":2}')]
    assert len(compare_rows(left, right, limit=1).rows) == 1


def test_maps_are_equal_in_any_order(spark: SparkSession) -> None:
    schema = "id INT, tags MAP<STRING, INT>, deep ARRAY<STRUCT<m: MAP<INT, MAP<STRING, DOUBLE>>, n: INT>>"
    one = [(1, {"a": 1, "b": None}, [({1: {"x": 1.0, "y": math.nan}, 2: None}, 1), None]), (2, None, None)]
    other = [(1, {"b": None, "a": 1}, [({2: None, 1: {"y": math.nan, "x": 1.0}}, 1), None]), (2, None, None)]
    left, right = spark.createDataFrame(one, schema), spark.createDataFrame(other, schema)
    assert compare_rows(left, right, limit=20).same
    fewer = spark.createDataFrame([(1, {"a": 1}, one[0][2]), one[1]], schema)
    assert not compare_rows(left, fewer, limit=20).same
    without = spark.createDataFrame([(1, one[0][1], [({1: {}, 2: None}, 1), None]), one[1]], schema)
    assert not compare_rows(left, without, limit=20).same


def test_a_column_that_one_side_lacks_is_null(spark: SparkSession) -> None:
    left = spark.createDataFrame([(1, None), (2, 7)], "id INT, more INT")
    right = spark.createDataFrame([(1,), (2,)], "id INT")
    found = compare_rows(left, right, limit=20)
    assert (found.equal, found.only_left, found.only_right) == (1, 1, 1)
    assert [row.values for row in found.rows] == [(2, None), (2, 7)]
    assert compare_rows(right, right.orderBy("id", ascending=False), limit=20).same
