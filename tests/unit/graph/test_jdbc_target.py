"""Options of jdbc sinks, names of tables, and types of PostgreSQL for those of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.declare import load_pipeline
from penstock.graph.rules.jdbc_options import REFUSED, jdbc_options
from penstock.graph.sinks.jdbc_target import OWN_OPTIONS, SPARK_OPTIONS, TableName, connection_options
from penstock.graph.sinks.postgres_types import converted, loses_in, staged_type


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("orders", '"orders"'),
        (" Public.Orders ", '"public"."orders"'),
        ('public."Orders ""new"""', '"public"."Orders ""new"""'),
        ('"a.b".größe$1', '"a.b"."größe$1"'),
    ],
)
def test_a_name_is_read_as_postgresql_reads_it(text: str, sql: str) -> None:
    name = TableName.parse(text)
    assert name is not None
    assert name.sql == sql


@pytest.mark.parametrize("text", ["", "a.", ".a", "a.b.c", "a b", "(SELECT 1)", "1a", "a;b", '""', 'a"b"'])
def test_what_is_no_name(text: str) -> None:
    assert TableName.parse(text) is None


@pytest.mark.parametrize(
    ("spark", "postgres"),
    [
        ("bigint", "bigint"),
        ("tinyint", "smallint"),
        ("decimal(12,3)", "numeric(12,3)"),
        ("varchar(5)", "text"),
        ("string collate UTF8_LCASE", "text"),
        ("timestamp_ntz", "timestamp without time zone"),
        ("array<decimal(5,2)>", "numeric(5,2)[]"),
        ("array<array<int>>", None),
        ("array<timestamp>", None),
        ("struct<a:int>", None),
        ("map<string,int>", None),
        ("variant", None),
        ("interval day to second", None),
    ],
)
def test_types(spark: str, postgres: str | None) -> None:
    assert staged_type(spark) == postgres


@pytest.mark.parametrize(
    ("staged", "column", "loses"),
    [
        ("double precision", "bigint", True),
        ("numeric(5,2)", "integer", True),
        ("numeric(5,0)", "integer", False),
        ("bigint", "smallint", False),
        ("double precision", "numeric(10,2)", False),
        ("timestamp with time zone", "date", True),
        ("timestamp without time zone", "time(3) without time zone", True),
        ("date", "timestamp with time zone", False),
    ],
)
def test_what_would_be_cut(staged: str, column: str, loses: bool) -> None:
    assert loses_in(staged, column) is loses


def test_values_become_what_the_column_is() -> None:
    assert converted("v", "text", "jsonb", "UTC") == "v::jsonb"
    assert converted("v", "text[]", "uuid[]", "UTC") == "v::uuid[]"
    assert converted("v", "text", "character varying(3)", "UTC") == "v", "a cast would cut it"
    assert converted("v", "text[]", "character varying(3)[]", "UTC") == "v"
    assert converted("v", "timestamp with time zone", "timestamp(3) without time zone", "UTC") == "v AT TIME ZONE 'UTC'"
    assert converted("v", "timestamp with time zone", "timestamp(3) with time zone", "UTC") == "v"
    assert converted("v", "bigint", "integer", "UTC") == "v"


def test_options_of_spark_and_of_the_driver_reach_the_connection() -> None:
    given = dict.fromkeys((*SPARK_OPTIONS, *OWN_OPTIONS, "sslmode", "currentSchema"), "1")
    assert {*connection_options(given)} == {*SPARK_OPTIONS, "sslmode", "currentSchema"} - {"dbtable"}


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_that_a_sink_does_not_take(tmp_path: Path, name: str) -> None:
    place = {"url": "jdbc:postgresql://host/db", "dbtable": "orders", name: "true"}
    (tmp_path / "pipeline.py").write_text(f"import penstock as ps\nps.create_sink('out', 'jdbc', {place!r})\n")
    [error] = jdbc_options(load_pipeline([tmp_path / "pipeline.py"], root=tmp_path).graph())
    assert error.condition == "SINK_OPTIONS_INVALID"
    assert f"'{name}'" in error.message
    assert REFUSED[name][1] in error.fix
