"""Files written for Databricks, run as they are: notebooks, dbutils, paths, secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

NOTEBOOK = """\
# Databricks notebook source
# MAGIC %md
# MAGIC # Orders

# COMMAND ----------

# MAGIC %run ./helpers/names $prefix="shop_"

# COMMAND ----------

import dlt
from pyspark.sql import functions as F

source = "/Volumes/main/raw/" + dbutils.widgets.get("folder")
TOKEN = dbutils.secrets.get("shop", "token")
FIRST = [entry.name for entry in dbutils.fs.ls(source)]

with open("/dbfs/Volumes/main/raw/rates.txt") as file:
    RATE = float(file.read())


@F.udf("string")
def first_line(path):
    with open(path) as file:  # on a worker: Python's own
        return file.readline().strip()


# COMMAND ----------


@dlt.table(name=table_name("orders"))
def orders():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "json")
        .load(source)
        .select("id", (F.col("amount") * RATE).alias("amount"), F.lit(len(TOKEN)).alias("token"))
        .withColumn("mood", F.expr("ai_classify(CAST(amount AS STRING), array('low', 'high'))"))
    )


# COMMAND ----------

# MAGIC %sql
# MAGIC CREATE OR REFRESH MATERIALIZED VIEW moods AS
# MAGIC SELECT mood, ai_classify(mood, array("low")) AS again, count(*) AS orders FROM shop_orders GROUP BY mood

# COMMAND ----------

@dlt.foreach_batch_sink(name="newest")
def keep_newest(df, batch_id):
    from delta.tables import DeltaTable

    target = "/Volumes/main/out/newest"
    if not DeltaTable.isDeltaTable(df.sparkSession, target):
        df.limit(0).write.format("delta").save(path=target)
    table = DeltaTable.forPath(df.sparkSession, target).alias("t")
    table.merge(df.alias("s"), "s.id = t.id").whenNotMatchedInsertAll().execute()
    df.write.mode("overwrite").json("dbfs:/Volumes/main/out/as_json")
    df.write.mode("append").format("csv").options(path="/dbfs/Volumes/main/out/as_csv").save()
    df.sparkSession.read.json("/Volumes/main/out/as_json").write.option("path", "/Volumes/main/out/again").save()


@dlt.append_flow(target="newest")
def newest_orders():
    return dlt.read_stream("shop_orders").select("id", "amount")


# COMMAND ----------

# MAGIC %python
# MAGIC @dlt.table
# MAGIC def files():
# MAGIC     path = dbutils.fs.ls("dbfs:/Volumes/main/raw/")
# MAGIC     here = spark.conf.get("here")
# MAGIC     rows = [(name, f"{here}/lake/rates.txt") for name in FIRST + [entry.name for entry in path]]
# MAGIC     return spark.createDataFrame(rows, "name string, path string").withColumn("line", first_line("path"))
"""


STAND_INS = """\
from helpers.names import LIMIT


def classify(text, labels):
    return labels[-1] if len(labels) > 1 and float(text) > LIMIT else labels[0]


spark.udf.register("ai_classify", classify, "string")
"""


@pytest.fixture
def files(project: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> PipelineProject:
    monkeypatch.setenv("TOKEN", "s3cr3t-t0ken")
    project.settings |= {
        "paths": "{/Volumes/main/raw: ./lake, /Volumes/main/out: ./out}",
        "secrets": "{shop/token: '${env:TOKEN}'}",
        "configuration": f"{{folder: in, here: '{project.directory}'}}",
        "libraries": "[{file: {path: notebook.py}}]",
    }
    (project.directory / "lake").mkdir()
    (project.directory / "lake" / "rates.txt").write_text("2.0\n")
    return project


def test_a_notebook_runs_with_paths_secrets_and_widgets(files: PipelineProject) -> None:
    (files.directory / "notebook.py").write_text(NOTEBOOK)
    (files.directory / "helpers").mkdir()
    (files.directory / "helpers" / "names.py").write_text(
        "# Databricks notebook source\nLIMIT = 12\n\n"
        "def table_name(name):\n    return dbutils.widgets.get('prefix') + name\n"
    )
    files.arrive("one", [{"id": 1, "amount": 5.0}, {"id": 2, "amount": 7.5}], folder="lake/in")
    (files.directory / "stand_ins.py").write_text(STAND_INS)
    files.settings |= {"stand_ins": "stand_ins.py", "libraries": "[{glob: {include: '*.py'}}]"}
    update = files.run()
    assert update.errors == ()
    assert files.rows("shop_orders", "id", "amount", "token", "mood") == [
        ("1", 10.0, 12, "low"),  # without a schema or inferColumnTypes, Auto Loader reads texts
        ("2", 15.0, 12, "high"),
    ]
    assert files.rows("moods", "mood", "again", "orders") == [("high", "low", 1), ("low", "low", 1)]
    warnings = [str(event.error["condition"]) for event in files.events(update) if event.error]
    assert "STAND_INS_IN_USE" in warnings
    assert "s3cr3t" not in str([event.details for event in files.events(update)])
    assert files.rows("files", "name", "line") == [("in/", "2.0"), ("one.json", "2.0"), ("rates.txt", "2.0")]
    out = files.directory / "out"
    assert sorted(row["id"] for row in read_table(out / "newest")) == ["1", "2"]
    written = [sorted(each.suffix for each in (out / name).glob("part-*")) for name in ("as_json", "as_csv", "again")]
    assert [set(each) for each in written] == [{".json"}, {".csv"}, {".parquet"}]
    assert not Path("/Volumes").exists()


def test_paths_that_nobody_mapped_and_secrets_in_errors(files: PipelineProject) -> None:
    files.settings["paths"] = "{/Volumes/other: ./lake}"
    (files.directory / "notebook.py").write_text(
        """\
import dlt
SECRET = dbutils.secrets.get("shop", "token")

@dlt.table
def streamed():
    return spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("/Volumes/main/raw/x/in")

@dlt.table
def read():
    return spark.read.json("dbfs:/mnt/raw/in")

@dlt.table
def queried():
    return spark.sql("SELECT * FROM json.`/Volumes/main/raw/x/in`")

@dlt.table
def opened():
    with open("/FileStore/tables/a.csv") as file:
        return spark.createDataFrame([(file.read(),)], "text string")

@dlt.table
def raised():
    raise ValueError(f"wrong password {SECRET}")
"""
    )
    report = files.validate()
    found = {str(error.dataset).removeprefix("shop."): error for error in report.errors}
    entries = {name: error.facts["entry"] for name, error in found.items() if error.condition == "PATH_NOT_MAPPED"}
    assert entries == {
        "streamed": "/Volumes/main/raw/x",
        "read": "dbfs:/mnt/raw",
        "queried": "/Volumes/main/raw/x",
        "opened": "/FileStore/tables",
    }
    assert found["raised"].facts["reason"] == "wrong password ***"
    assert "s3cr3t" not in str(found["raised"])


def test_the_path_of_a_table_that_nobody_mapped(files: PipelineProject) -> None:
    (files.directory / "notebook.py").write_text(
        "import dlt\n\n@dlt.table(path='dbfs:/mnt/tables/t')\ndef t():\n    return spark.range(1)\n"
    )
    (error,) = files.validate().errors
    assert (error.condition, error.facts["entry"]) == ("PATH_NOT_MAPPED", "dbfs:/mnt/tables")
    assert (str(error.location), error.dataset) == ("notebook.py:3", "shop.t")
