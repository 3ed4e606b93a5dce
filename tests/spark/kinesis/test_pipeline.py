"""Pipelines and scripts that read Kinesis, on Spark, with a Kinesis on loopback."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.kinesis_server import KinesisServer
from tests.integration.moto_server import ACCESS_KEY, REGION, SECRET_KEY
from tests.processes import free_ports
from tests.spark.pipeline_project import PipelineProject
from tests.spark.script.script_project import ScriptProject

from penstock.observe.status.pipeline_status import project_status
from penstock.runtime.script.session import LIKE_SPARK
from penstock.spark.session.query_settings import query_settings
from penstock.spark.session.session import driver_log

COLUMNS = ("partitionKey", "data", "stream", "shardId", "sequenceNumber")


def reader(options: Mapping[str, str]) -> str:
    return f"spark.readStream.format('kinesis').options(**{dict(options)!r})"


def files_with(text: str, *places: Path) -> list[Path]:
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    return [file for file in files if file.is_file() and text.encode() in file.read_bytes()]


@pytest.mark.slow  # test_page.py has both languages, the test of lost records runs that go on
def test_tables_in_python_and_sql_take_each_record_once(project: PipelineProject, kinesis: KinesisServer) -> None:
    kinesis.create("taken", shards=2)
    sent = kinesis.put("taken", [f"v{n}" for n in range(60)])
    read = reader(kinesis.options("taken", awsSecretKey="${secret:aws_key}", maxRecordsPerFetch="20"))
    project.settings["secrets"] = '{aws_key: "${file:secret.txt}"}'
    (project.directory / "secret.txt").write_text(SECRET_KEY)
    project.write(f"""
        @dlt.table
        def orders():
            return {read}.load()
        """)
    arguments = ", ".join(f"{name} => '{value}'" for name, value in kinesis.options("taken").items())
    (project.directory / "texts.sql").write_text(
        "CREATE OR REFRESH STREAMING TABLE texts AS SELECT CAST(data AS STRING) AS text, sequenceNumber\n"
        f"FROM STREAM read_kinesis({arguments});\n"
    )
    assert project.run().errors == ()
    assert project.rows("orders", "sequenceNumber") == sorted(sent)
    assert project.rows("texts", "text") == sorted(f"v{n}" for n in range(60))
    assert {row[2] for row in project.rows("orders", *COLUMNS)} == {"taken"}
    status = project_status(project.events()).dataset("shop.orders")
    assert status is not None
    assert str(status.lag) == "none"
    kinesis.split("taken", 0)
    sent += kinesis.put("taken", [f"v{n}" for n in range(60, 90)])
    second = project.run()
    assert second.errors == ()
    assert project.rows("orders", "sequenceNumber") == sorted(sent)
    assert project.written(second) == {"orders": 30, "texts": 30}
    assert files_with(SECRET_KEY, project.directory / ".penstock", Path(str(driver_log()))) == []


def test_what_is_wrong_is_named(project: PipelineProject, kinesis: KinesisServer) -> None:
    kinesis.create("known")
    (closed,) = free_ports(1)
    no_tls = kinesis.endpoint.replace("http:", "https:")
    wrong = {
        "tls": (kinesis.options("known", endpointUrl=no_tls), "KINESIS_TLS_FAILED"),
        "secret": (kinesis.options("known", awsAccessKey="WRONG"), "KINESIS_ACCESS_DENIED"),
        "denied": (kinesis.options("known", awsAccessKey="DENIED"), "KINESIS_ACCESS_DENIED"),
        "stream": (kinesis.options("unknown"), "KINESIS_STREAM_NOT_FOUND"),
        "port": (kinesis.options("known", endpointUrl=f"http://127.0.0.1:{closed}"), "KINESIS_UNREACHABLE"),
    }
    tables = (f"@dlt.table\ndef {name}():\n    return {reader(o)}.load()\n" for name, (o, _) in wrong.items())
    project.write("\n".join(tables))
    started = time.monotonic()
    errors = {str(error.dataset).removeprefix("shop."): error for error in project.run().errors}
    assert time.monotonic() - started < 30
    assert {name: error.condition for name, error in errors.items()} == {
        name: each for name, (_, each) in wrong.items()
    }
    assert [str(error.location).rpartition(":")[0] for error in errors.values()] == ["pipeline.py"] * 5
    assert all("Traceback" not in error.message and SECRET_KEY not in error.message for error in errors.values())
    assert "security token" in errors["secret"].message
    assert f"'unknown' in {REGION}" in errors["stream"].message


def test_options_that_cannot_work_are_refused_before_anything_runs(project: PipelineProject) -> None:
    wrong = {
        "fan_out": ({"streamName": "s", "consumerMode": "efo"}, "SOURCE_OPTION_REFUSED"),
        "unknown": ({"streamName": "s", "initalPosition": "latest"}, "SOURCE_OPTION_UNKNOWN"),
        "value": ({"streamName": "s", "maxFetchRate": "9"}, "KINESIS_INVALID_OPTION"),
        "nothing": ({"region": "eu-central-1"}, "KINESIS_MISSING_OPTION"),
    }
    tables = (f"@dlt.table\ndef {name}():\n    return {reader(o)}.load()\n" for name, (o, _) in wrong.items())
    project.write(
        "\n".join(tables)
        + f"@dlt.table\ndef columns():\n    return {reader({'streamName': 's'})}.schema('a INT').load()\n"
    )
    errors = {str(error.dataset).removeprefix("shop."): error for error in project.validate().errors}
    found = {name: each for name, (_, each) in wrong.items()} | {"columns": "KINESIS_INVALID_OPTION"}
    assert {name: error.condition for name, error in errors.items()} == found
    assert all(error.location is not None and error.location.path == "pipeline.py" for error in errors.values())
    assert "did you mean 'initialPosition'" in errors["unknown"].message.casefold().replace(
        "initialposition", "initialPosition"
    )


def test_lost_records_stop_the_flow_until_that_is_accepted(project: PipelineProject, kinesis: KinesisServer) -> None:
    kinesis.create("lost")
    kinesis.put("lost", [f"v{n}" for n in range(10)])
    project.write(f"""
        @dlt.table
        def lost():
            return {reader(kinesis.options("lost"))}.load()
        """)
    assert project.run().errors == ()
    (log,) = (project.directory / ".penstock").rglob("offsets/0")
    log.write_text(re.sub(r'"since": (\d+)', '"since": 1', log.read_text()))  # the run was long ago
    (log.parent / ".0.crc").unlink(missing_ok=True)
    kinesis.put("lost", [f"w{n}" for n in range(10)])
    kinesis.fault("lost", trim=15)
    error, *more = project.run().errors
    assert (error.condition, more) == ("KINESIS_DATA_LOSS", [])
    assert "shardId-000000000000 of the stream 'lost' behind sequence number" in error.message
    assert project.run(accept_data_loss=("lost",)).errors == ()
    texts = [value.decode() for value in project.rows("lost", "data")]
    assert texts == [*(f"v{n}" for n in range(10)), *(f"w{n}" for n in range(5, 10))]


@pytest.fixture
def app(spark: SparkSession, tmp_path: Path) -> ScriptProject:
    return ScriptProject(tmp_path, spark)


@pytest.mark.slow
def test_scripts(app: ScriptProject, kinesis: KinesisServer) -> None:
    kinesis.create("scripted")
    kinesis.put("scripted", ["a", "b"])
    code = """\
        df = READER.load()
        (df.selectExpr("CAST(data AS STRING) AS text").writeStream.format("delta").trigger(availableNow=True)
            .option("checkpointLocation", "DIR/checkpoint").start("DIR/out").awaitTermination())
        """
    with query_settings(app.spark, LIKE_SPARK):
        app.run(code.replace("READER", reader(kinesis.options("scripted")))).fine()
        assert app.rows("out", "text") == [("a",), ("b",)]
        kinesis.put("scripted", ["c"])
        app.run(code.replace("READER", reader(kinesis.options("scripted")))).fine()
        assert app.rows("out", "text") == [("a",), ("b",), ("c",)]
        wrong = app.run(code.replace("READER", reader(kinesis.options("absent")))).error("KINESIS_STREAM_NOT_FOUND")
        assert str(wrong.location) == "app.py:1"
        assert ACCESS_KEY not in str(wrong)
