"""`validate` lists the casts that can fail of pipelines written for Databricks: once a file, with column and line."""

from __future__ import annotations

import re

from tests.spark.pipeline_project import PipelineProject

CODE = """
from pyspark import pipelines as dp
from pyspark.sql import functions as F

def source():
    return spark.readStream.schema("s STRING, big LONG, n INT, day DATE, at TIMESTAMP").json("in")

@dp.view
def days():
    return source().withColumn("d", F.col("s").cast("date"))

@dp.table
@dp.expect("a number", "CAST(s AS INT) > 0")
def numbers():
    return dp.read_stream("days").select(
        "s",
        F.col("big").cast("int").alias("small"),
        F.col("n").cast("bigint").alias("wide"),
        F.col("n").cast("string").alias("text"),
        F.col("at").cast("date").alias("on"),
        F.expr("try_cast(s AS DOUBLE)").alias("tried"),
        (F.col("day") > "2026-01-01").alias("recent"),
    )

@dp.table
def queried():
    return spark.sql("SELECT CAST(s AS BOOLEAN) AS truth FROM STREAM(days)")
"""
SQL = """\
CREATE OR REFRESH STREAMING TABLE in_sql AS
SELECT
  CAST(s AS TIMESTAMP) AS at, CAST(n AS DOUBLE) AS d
FROM STREAM(days);
"""


def _write(project: PipelineProject, code: str) -> None:
    (project.directory / "in").mkdir()
    (project.directory / "orders.py").write_text(code, encoding="utf-8")
    (project.directory / "more.sql").write_text(SQL, encoding="utf-8")


def _notices(project: PipelineProject) -> dict[str, tuple[str, list[str]]]:
    report = project.validate()
    assert report.errors == ()
    return {
        each.facts["file"]: (str(each.location), re.split(r"(?<=\)), ", each.facts["casts"]))
        for each in report.warnings
        if each.condition == "CASTS_CAN_FAIL"
    }


def test_casts_are_listed_once_a_file(project: PipelineProject) -> None:
    _write(project, CODE.replace("from pyspark import pipelines as dp", "import dlt as dp"))
    assert _notices(project) == {
        "orders.py": (
            "orders.py:10",
            [
                "CAST(s AS DATE) (line 10)",
                "CAST(s AS INT) (line 13)",
                "CAST(big AS INT) (line 17)",
                "CAST(s AS BOOLEAN) (line 25)",
            ],
        ),
        "more.sql": ("more.sql:3:3", ["CAST(s AS TIMESTAMP) (line 3)"]),
    }


def test_other_pipelines_have_no_such_notice(project: PipelineProject) -> None:
    _write(project, CODE.replace("dp.view", "dp.temporary_view").replace('dp.read_stream("days")', "source()"))
    assert _notices(project) == {}


def test_casts_of_a_table_without_ansi_mode_are_not_listed(project: PipelineProject) -> None:
    (project.directory / "in").mkdir()
    project.write(
        """
        @dlt.table(spark_conf={"spark.sql.ansi.enabled": "false"})
        def lenient():
            return spark.readStream.schema("s STRING").json("in").select(F.col("s").cast("int").alias("n"))
        """
    )
    assert _notices(project) == {}


def test_casts_are_found_in_the_text_of_any_expression(project: PipelineProject) -> None:
    (project.directory / "in").mkdir()
    project.write(
        """
        @dlt.table
        def told():
            rows = spark.readStream.schema("s STRING, n INT").json("in")
            return rows.selectExpr(
                "CASE WHEN s = 'x\\ny\\ncast(' THEN CAST(s AS DATE) END AS after_line_breaks",
                "concat(" + "s, " * 40 + "CAST(CAST(s AS INT) AS STRING)) AS of_many",
                "transform(array(s), each -> CAST(each AS BYTE)) AS in_a_function",
                "CAST(n AS BIGINT) IN (1, 2) AS wider", "n AS `cast(n as`", "CAST('1' AS INT) AS constant",
            )
        """
    )
    ((_, casts),) = _notices(project).values()
    assert [cast.partition(" (line")[0] for cast in casts] == [
        "CAST(s AS DATE)",
        "CAST(s AS INT)",
        "CAST(each AS BYTE)",
    ]
