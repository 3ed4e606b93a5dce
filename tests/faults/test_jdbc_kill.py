"""kill -9 while rows go to PostgreSQL: between staging and commit, and between the commit and Spark's own."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli_runner import penstock
from tests.postgres_server import PostgresServer

_FILES, _ROWS = 5, 20
_PIPELINE = """
import penstock as ps
from penstock.connectors.jdbc import connector

if os.environ.get("DIES_IN") == "transaction":
    connector.bring_in = dying(connector.bring_in)
else:
    connector.JdbcBatches.write = dying(connector.JdbcBatches.write)

PLACE = {options}
ps.create_sink("log", "jdbc", {{**PLACE, "dbtable": "log"}})
ps.create_sink("windows", "jdbc", {{**PLACE, "dbtable": "windows", "mode": "upsert", "keys": "start"}})


def rows():
    source = spark.readStream.schema("id INT, at TIMESTAMP").option("maxFilesPerTrigger", "1")
    return source.json("in")


@ps.append_flow(target="log")
def all_rows():
    return rows()


@ps.append_flow(target="windows")
def closed():
    counted = rows().withWatermark("at", "0 seconds").groupBy(F.window("at", "20 minutes")).count()
    return counted.selectExpr("window.start AS start", "count AS rows")
"""
_IMPORTS = "from pyspark.sql import functions as F\n"
# Between staging and commit, and between the commit and Spark's own: of the third batch that either flow writes.
_PLACES = ({"DIES_IN": "transaction", "DIES_AT": "before:3"}, {"DIES_IN": "batch", "DIES_AT": "after:3"})


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_row_once(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: sinks\nschema: shop\nspark_conf: {spark.sql.shuffle.partitions: 1}\n")
    (tmp_path / "in").mkdir()
    for number in range(_FILES):
        ids = range(number * _ROWS, (number + 1) * _ROWS)
        lines = [json.dumps({"id": each, "at": f"2026-01-01T{each // 60:02}:{each % 60:02}:00Z"}) for each in ids]
        file = tmp_path / "in" / f"{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (number, number))  # they are read in this order
    dying = (Path(__file__).parent / "dying.py").read_text()
    with PostgresServer() as server:
        (tmp_path / "pipeline.py").write_text(dying + _IMPORTS + _PIPELINE.format(options=repr(server.options)))
        for place in _PLACES:
            ended = penstock("run", tmp_path, environ=place)
            assert ended.exit_code == -signal.SIGKILL, ended
            committed = server.rows("SELECT sum(batch_id + 1) FROM penstock_batches")
            assert committed < [(2 * _FILES,)], "it had not finished yet"
        penstock("run", tmp_path).expect(0)
        assert server.rows("SELECT id FROM log ORDER BY id") == [(each,) for each in range(_FILES * _ROWS)]
        windows = server.rows("SELECT count(*), min(rows), max(rows) FROM windows")
        assert windows == [(_FILES - 1, _ROWS, _ROWS)], "all but the one that is open"
