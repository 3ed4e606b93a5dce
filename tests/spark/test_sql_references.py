from __future__ import annotations

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from penstock.spark.sql.edits import EditedStatement
from penstock.spark.sql.references import parse_statement

REPLACED = {
    "SELECT * FROM a": "SELECT * FROM `V` AS `a`",
    "SELECT '😀 a' FROM x.a AS t -- a": "SELECT '😀 a' FROM `V` AS t -- a",
    "SELECT * FROM a t JOIN b USING (id)": "SELECT * FROM `V` t JOIN `V` AS `b` USING (id)",
    "SELECT * FROM (a) CROSS JOIN b": "SELECT * FROM (`V` AS `a`) CROSS JOIN `V` AS `b`",
    "SELECT * FROM STREAM(a)": "SELECT * FROM `V` AS `a`",
    "SELECT * FROM STREAM a": "SELECT * FROM `V` AS `a`",
    "SELECT * FROM stream\n ( x . `b c` )  t": "SELECT * FROM `V`  t",
    "SELECT * FROM STREAM x.a AS t WHERE 1 = 1": "SELECT * FROM `V` AS t WHERE 1 = 1",
    "SELECT * FROM STREAM(a) JOIN a ON true": "SELECT * FROM `V` AS `a` JOIN `V` AS `a` ON true",
    "SELECT (SELECT max(id) FROM a) FROM b WHERE id IN (SELECT id FROM c)": (
        "SELECT (SELECT max(id) FROM `V` AS `a`) FROM `V` AS `b` WHERE id IN (SELECT id FROM `V` AS `c`)"
    ),
    "WITH a AS (SELECT * FROM a), b AS (SELECT * FROM a) SELECT * FROM b, a": (
        "WITH a AS (SELECT * FROM `V` AS `a`), b AS (SELECT * FROM a) SELECT * FROM b, a"
    ),
    "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 3) SELECT * FROM a": (
        "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 3) SELECT * FROM a"
    ),
    "SELECT * FROM a ANTI JOIN b ON a.id = b.id": "SELECT * FROM `V` AS `a` ANTI JOIN `V` AS `b` ON a.id = b.id",
    "SELECT * FROM a PIVOT (sum(n) FOR id IN (1))": "SELECT * FROM `V` AS `a` PIVOT (sum(n) FOR id IN (1))",
    "SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.id = a.id)": (
        "SELECT * FROM `V` AS `a`, LATERAL (SELECT * FROM `V` AS `b` WHERE b.id = a.id)"
    ),
    "SELECT * FROM a LATERAL VIEW explode(n) t AS n": "SELECT * FROM `V` AS `a` LATERAL VIEW explode(n) t AS n",
    "FROM a |> WHERE id > 1 |> JOIN b USING (id)": "FROM `V` AS `a` |> WHERE id > 1 |> JOIN `V` AS `b` USING (id)",
    "SELECT /* STREAM(x) */ 1 FROM STREAM /* c */ ( /* d */ a /* e */ ) -- f": (
        "SELECT /* STREAM(x) */ 1 FROM `V` AS `a` -- f"
    ),
    "SELECT * FROM STREAM(a) WITH (x = 1, y = 'z)') IDENTIFIED BY mine AS t": "SELECT * FROM `V` AS t",
    "SELECT * FROM a WITH (x = 1) JOIN b": "SELECT * FROM `V` AS `a` JOIN `V` AS `b`",
    "SELECT * FROM STREAM(x.a) WATERMARK ts DELAY OF INTERVAL 10 MINUTES JOIN b": (
        "SELECT * FROM `V` WATERMARK ts DELAY OF INTERVAL 10 MINUTES AS `a` JOIN `V` AS `b`"
    ),
    "SELECT * FROM STREAM a WATERMARK ts DELAY OF INTERVAL 10 MINUTES AS t": (
        "SELECT * FROM `V` WATERMARK ts DELAY OF INTERVAL 10 MINUTES AS t"
    ),
    "SELECT * FROM IDENTIFIER('a') JOIN STREAM(IDENTIFIER('b')) ON true": (
        "SELECT * FROM `V` AS `a` JOIN `V` AS `b` ON true"
    ),
    "SELECT * FROM read_files('(p', format => \"a)\") JOIN a": "SELECT * FROM `V` JOIN `V` AS `a`",
    "SELECT * FROM STREAM ( read_files('p') ) AS f WHERE 1 = 1": "SELECT * FROM `V` AS f WHERE 1 = 1",
    "SELECT * FROM STREAM read_files('p', f('x', (1))) t(a, b)": "SELECT * FROM `V` t(a, b)",
    "SELECT * FROM read_files('p') WATERMARK ts DELAY OF INTERVAL 1 HOUR t": (
        "SELECT * FROM `V` WATERMARK ts DELAY OF INTERVAL 1 HOUR t"
    ),
    "SELECT id FROM (SELECT a.*, row_number() OVER (ORDER BY id) r FROM a QUALIFY r = 1)": (
        "SELECT id FROM (SELECT a.*, row_number() OVER (ORDER BY id) r FROM `V` AS `a` QUALIFY r = 1)"
    ),
    "SELECT * FROM a VERSION AS OF 3 JOIN a FOR TIMESTAMP AS OF date_sub(now(), 1) AS t ON true": (
        "SELECT * FROM `V` AS `a` JOIN `V` AS t ON true"
    ),
    "TABLE a": "TABLE `V`",
    "SELECT 1": "SELECT 1",
    "VALUES (1)": "VALUES (1)",
}  # fmt: skip


def test_references_are_replaced_where_they_stand(spark: SparkSession) -> None:
    found = {}
    for statement in REPLACED:
        parsed = parse_statement(spark, statement)
        assert parsed.command is None, statement
        edits = [edit for each in parsed.tables for edit in each.place.replaced_by("`V`", each.parts[-1])]
        edits += [edit for each in parsed.functions for edit in each.place.replaced_by("`V`", None)]
        found[statement] = EditedStatement.of(statement, edits).text
        parse_statement(spark, found[statement])
    assert found == REPLACED


def test_what_a_reference_tells(spark: SparkSession) -> None:
    statement = "SELECT * FROM STREAM(`odd.name`) WITH (Limit='2') IDENTIFIED BY `a b` JOIN one.two.`thr``ee` x"
    stream, table = parse_statement(spark, statement).tables
    assert (stream.parts, stream.streaming, dict(stream.options)) == (("odd.name",), True, {"Limit": "2"})
    assert (table.parts, table.streaming, table.options) == (("one", "two", "thr`ee"), False, {})
    assert (stream.source_name, table.source_name) == ("a b", None)
    assert (stream.name, table.name) == ("`odd.name`", "`one`.`two`.`thr``ee`")
    assert [statement[each.place.start : each.place.stop] for each in (stream, table)] == [
        "STREAM(`odd.name`) WITH (Limit='2') IDENTIFIED BY `a b`",
        "one.two.`thr``ee`",
    ]


def test_a_table_of_the_past(spark: SparkSession) -> None:
    statement = "SELECT * FROM a VERSION AS OF 3 JOIN b TIMESTAMP AS OF date_sub(now(), 1)"
    version, timestamp = parse_statement(spark, statement).tables
    assert (version.options, version.timestamp) == ({"versionAsOf": "3"}, None)
    assert (timestamp.options, timestamp.timestamp) == ({}, "date_sub(now(), 1)")


def test_statements_that_are_no_query(spark: SparkSession) -> None:
    commands = [
        "INSERT INTO a VALUES (1)",
        "INSERT OVERWRITE a SELECT * FROM b",
        "WITH x AS (SELECT 1) INSERT INTO a SELECT * FROM x",
        "FROM a INSERT INTO b SELECT * INSERT INTO c SELECT *",
        "CREATE TABLE a (id INT)",
        "CREATE TABLE a AS SELECT 1",
        "CREATE OR REPLACE VIEW a AS SELECT 1",
        "DROP TABLE a",
        "ALTER TABLE a ADD COLUMN b INT",
        "DELETE FROM a WHERE true",
        "UPDATE a SET b = 1",
        "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE a",
        "CACHE TABLE a",
        "OPTIMIZE a",
        "VACUUM a",
    ]
    assert [statement for statement in commands if parse_statement(spark, statement).command is None] == []
    harmless = ["SET a.b = 1", "RESET", "USE shop", "SELECT * FROM a"]
    assert [statement for statement in harmless if parse_statement(spark, statement).command is not None] == []


def test_a_syntax_error_is_sparks_own(spark: SparkSession) -> None:
    with pytest.raises(ParseException):
        parse_statement(spark, "SELEC 1")
