"""CSV: columns by name, whatever their order in the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.spark.sources.auto_loader import describe_failure, load_files

Build = Callable[..., Landing]


def test_the_header_names_the_columns_and_strings_keep_their_zeros(landing: Build) -> None:
    it = landing("csv")
    it.put("1.csv", 'id,name\n007,"Smith, J"\n8,\n')
    it.run()
    assert it.rows() == [("007", "Smith, J", None), ("8", None, None)]


@pytest.mark.slow  # test_csv_records.py infers and rescues
def test_types_are_inferred_on_request(landing: Build) -> None:
    it = landing("csv", inferColumnTypes="true")
    it.put("1.csv", "id,price\n1,2.5\n")
    it.run()
    it.put("2.csv", "id,price\ntwo,3.5\n")
    it.run()
    assert it.rows("id", "price", "_rescued_data") == [(1, 2.5, None), (None, 3.5, {"id": "two"})]


@pytest.mark.parametrize("types", [pytest.param("true", marks=pytest.mark.slow), "false"])
def test_files_with_another_order_and_new_columns_are_matched_by_name(landing: Build, types: str) -> None:
    it = landing("csv", inferColumnTypes=types)
    it.put("1.csv", "id,name\n1,a\n")
    it.run()
    it.put("2.csv", "name,id\nb,2\n")
    it.run()
    it.put("3.csv", "zone,id,name\nnorth,3,c\n")
    it.put("4.csv", "id,name\n4,d\n")
    it.run()
    assert [(str(row[0]), *row[1:]) for row in it.rows("id", "name", "zone", "_rescued_data")] == [
        ("1", "a", None, None),
        ("2", "b", None, None),
        ("3", "c", "north", None),
        ("4", "d", None, None),
    ]
    assert [evolution.new_columns for evolution in it.evolutions] == [(), ("zone",)]


def test_mixed_headers_at_the_first_start(landing: Build) -> None:
    it = landing("csv", schemaHints="id INT, price DOUBLE", schemaEvolutionMode="rescue")
    it.put("1.csv", "id,price\n1,2.5\n\n3,much\n")
    it.put("2.csv", 'price,ID,name\r\n3.5,2,"x, y"\r\n4.5,4,z,extra\r\n')
    it.run()
    assert it.rows("id", "price", "name", "_rescued_data") == [
        (1, 2.5, None, None),
        (2, 3.5, "x, y", None),
        (3, None, None, {"price": "much"}),
        (4, 4.5, "z", {"_corrupt_record": "4.5,4,z,extra"}),
    ]
    assert it.evolutions == []
    it.put("3.csv", "new,id\nq,5\n")
    it.run()
    assert (5, {"new": "q"}) in it.rows("id", "_rescued_data")


@pytest.mark.slow  # the test above has one in its third file
def test_unknown_columns_go_to_the_rescued_data_in_mode_rescue(landing: Build) -> None:
    it = landing("csv", schemaEvolutionMode="rescue")
    it.put("1.csv", "id\n1\n")
    it.run()
    it.put("2.csv", "id,color\n2,red\n3,\n")
    it.run()
    assert it.rows() == [("1", None), ("2", {"color": "red"}), ("3", None)]


@pytest.mark.slow  # test_evolution.py has the mode with JSON
def test_fail_on_new_columns_names_the_column(landing: Build) -> None:
    it = landing("csv", schemaEvolutionMode="failOnNewColumns")
    it.put("1.csv", "id\n1\n")
    it.run()
    it.put("2.csv", "id,color\n2,red\n")
    with pytest.raises(StreamingQueryException) as failure:
        it.run()
    error = describe_failure(failure.value)
    assert error is not None
    assert error.condition == "UNKNOWN_FIELD_EXCEPTION"
    assert error.facts["fields"] == "'color'"
    assert it.rows() == [("1", None)]


def test_short_and_long_lines(landing: Build) -> None:
    it = landing("csv")
    it.put("1.csv", "a,b\n1\n2,x,more\n3,y\n")
    it.run()
    assert it.rows() == [("1", None, None), ("2", "x", {"_corrupt_record": "2,x,more"}), ("3", "y", None)]


def test_empty_and_repeated_header_names(landing: Build) -> None:
    it = landing("csv")
    it.put("1.csv", "id,,id\n1,2,3\n")
    it.run()
    assert it.rows() == [("1", "2", "3", None)]
    assert it.table.columns == ["id", "_c1", "id2", "_rescued_data"]


def test_without_a_header_columns_have_numbers(landing: Build) -> None:
    it = landing("csv", header="false", sep="|")
    it.put("1.csv", "1|a\n2|b\n")
    it.run()
    assert it.rows("_c0", "_c1") == [("1", "a"), ("2", "b")]


def test_a_given_schema_is_read_by_position_as_spark_does(landing: Build) -> None:
    it = landing("csv", schema="key INT, label STRING", header="true")
    it.put("1.csv", "id,name\n1,a\n")
    it.run()
    assert it.rows() == [(1, "a")]


# Slow: with one header Spark's reader takes the lines, as most tests here have them.
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(["id,a,b"], id="one_header", marks=pytest.mark.slow),
        pytest.param(["id,a,b", "b,id"], id="several_headers"),
    ],
)
def test_a_number_that_is_rounded_is_rescued_as_it_is(spark: SparkSession, landing: Build, headers: list[str]) -> None:
    it = landing("csv", schemaHints="id INT, a DECIMAL(4,2)")
    lines = ("1,1.23,x", "2,1.239,x", "3,99.999,x", "4,1000,x", "5,1.2300,x", "6,1.001,x", "7,1.239,x,too long")
    it.put("1.csv", "\n".join((headers[0], *lines, "")))
    for header in headers[1:]:
        it.put("2.csv", f"{header}\nx,8\n")
    rows = load_files(spark, it.read()).select("id", "a", "_rescued_data").collect()
    found = [(row[0], row[1], row[2] and json.loads(row[2])) for row in sorted(rows)]
    for row in found:
        assert row[2] is None or row[2].pop("_file_path").endswith("1.csv")
    assert found[:7] == [
        (1, Decimal("1.23"), None),
        (2, Decimal("1.24"), {"a": "1.239"}),
        (3, None, {"a": "99.999"}),
        (4, None, {"a": "1000"}),
        (5, Decimal("1.23"), None),
        (6, Decimal("1.00"), {"a": "1.001"}),
        (7, Decimal("1.24"), {"_corrupt_record": lines[-1]}),
    ]
