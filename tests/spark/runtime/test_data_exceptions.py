"""What a run says of values that cannot be computed: the expression, its line, the `try_` twin and the setting."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.failures.translate import translate_failure
from penstock.spark.session.query_settings import query_settings

SETTING = 'spark_conf: {spark.sql.ansi.enabled: "false"}'
_TWINS = {
    "CAST(s AS DATE)": "try_cast()",
    "CAST(s AS BOOLEAN)": "try_cast()",
    "CAST(99999999999 + n AS INT)": "try_cast()",
    "CAST(12345.6 + n AS DECIMAL(4, 1))": "",
    "s + 1": "try_cast()",
    "to_date(s)": "try_to_date()",
    "to_date(s, 'yyyy-MM-dd')": "try_to_date()",
    "to_timestamp(s)": "try_to_timestamp()",
    "to_timestamp(s, 'yyyy-MM-dd')": "try_to_timestamp()",
    "unix_timestamp(s, 'yyyy-MM-dd')": "try_to_timestamp()",
    "n / z": "try_divide()",
    "n % z": "try_mod()",
    "n + 2147483647": "try_add()",
    "n * 2147483647": "try_multiply()",
    "-n - 2147483647": "try_subtract()",
    "array(1)[n]": "get()",
    "element_at(array(1), n)": "try_element_at()",
    "elt(n, 'a')": "get()",
    "make_date(2021, 20 + n, 1)": "",
    "next_day(current_date(), s)": "",
    "parse_url(concat('http://a b', s), 'HOST')": "try_parse_url()",
}


# Slow: more ways to a twin that one of the others has.
_SLOW = {
    *("CAST(s AS BOOLEAN)", "CAST(99999999999 + n AS INT)", "s + 1", "to_date(s, 'yyyy-MM-dd')", "elt(n, 'a')"),
    *("to_timestamp(s, 'yyyy-MM-dd')", "unix_timestamp(s, 'yyyy-MM-dd')", "next_day(current_date(), s)"),
}


@pytest.mark.parametrize(
    "expression", [pytest.param(each, marks=pytest.mark.slow) if each in _SLOW else each for each in _TWINS]
)
def test_ansi_errors_name_the_twin_and_the_setting(spark: SparkSession, expression: str) -> None:
    # Of no table in memory: Spark would compute it while it plans, and tell no place.
    rows = spark.range(1).selectExpr("concat('09-20-202', id + 1) AS s", "CAST(id + 5 AS INT) n", "CAST(id AS INT) z")
    with pytest.raises(Exception) as failed:  # noqa: PT011 - Spark's own, of several classes
        rows.selectExpr(expression).collect()
    error = translate_failure(failed.value, dataset="shop.t", flow="t")
    assert error.condition == "DATA_EXCEPTION"
    assert SETTING in error.fix
    assert error.facts["alternative"].startswith(_TWINS[expression])
    with query_settings(spark, {"spark.sql.ansi.enabled": "false"}):
        rows.selectExpr(expression).collect()


def test_failed_casts_tell_line_and_column(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.table
        def in_python():
            days = spark.readStream.schema("s STRING").json("in")
            return days.withColumn("day", F.col("s").cast("date"))

        @dlt.table
        def refreshed():
            days = spark.read.schema("s STRING").json("in")
            return days.select(
                (F.col("s").cast("int") + 1).alias("n"),
            )

        @dlt.table
        @dlt.expect("a day", "CAST(s AS DATE) > '2020-01-01'")
        def checked():
            return spark.readStream.schema("s STRING").json("in")

        @dlt.table
        def parsed():
            return spark.readStream.schema("s STRING").json("in").select(F.to_date("s"))
        """
    )
    sql = "CREATE MATERIALIZED VIEW in_sql AS\nSELECT s,\n  CAST(s AS DATE) AS day FROM json.`in`;\n"
    (project.directory / "days.sql").write_text(sql, encoding="utf-8")
    project.arrive("1", [{"s": "09-20-2021"}])
    errors = {str(error.dataset).removeprefix("shop."): error for error in project.run().errors}
    assert {name: str(error.location) for name, error in errors.items()} == {
        "in_python": "pipeline.py:10",
        "refreshed": "pipeline.py:16",
        "checked": "pipeline.py:20",
        "parsed": "pipeline.py:24",
        "in_sql": "days.sql:3:3",
    }
    for name, code in {
        "in_python": 'F.col("s").cast("date")',
        "refreshed": 'F.col("s").cast("int")',
        "checked": "CAST(s AS DATE)",
        "parsed": "to_date()",
        "in_sql": "CAST(s AS DATE)",
    }.items():
        assert code in errors[name].message
        assert SETTING in errors[name].fix
        assert ("try_to_date()" if name == "parsed" else "try_cast()") in errors[name].fix
