"""kill -9 while a table in S3 is committed, before the store has the commit and after: each row is there once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from tests.cli_runner import penstock, running
from tests.faults.held_requests import HeldRequests
from tests.integration.s3_server import S3Server

from penstock.storage.delta_table import open_delta_table
from penstock.storage.s3 import use_s3_settings

_PIPELINE = """
import dlt
import penstock as ps
from pyspark.sql import functions as F


@dlt.table(path="s3a://lake/orders")
@dlt.expect_or_quarantine("real", "amount > 0")
def orders():
    return spark.readStream.schema("id LONG, k LONG, amount LONG").option("maxFilesPerTrigger", 1).json("in")


@ps.table(path="s3a://lake/by_key", output_mode="update")
def by_key():
    return spark.readStream.table("orders").groupBy("k").agg(F.sum("amount").alias("amount"))


dlt.create_streaming_table("newest", path="s3a://lake/newest")
dlt.apply_changes(target="newest", source="orders", keys=["k"], sequence_by="id", stored_as_scd_type=1)


@dlt.table(path="s3a://lake/total")
def total():
    return spark.read.table("orders").agg(F.sum("amount").alias("amount"))
"""
_KILLS: Final[tuple[tuple[str, Literal["request", "answer"]], ...]] = (
    ("orders", "request"),
    ("orders", "answer"),
    ("orders__quarantine", "answer"),
    ("by_key", "request"),
    ("newest", "answer"),
    ("total", "request"),
)
_ROWS: Final = 20


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    with S3Server(tmp_path) as server:
        use_s3_settings(server.settings)
        server.bucket("lake")
        yield server
        use_s3_settings(dict)


def _file(number: int) -> list[dict[str, int]]:
    return [{"id": n, "k": n % 7, "amount": n % 11 - 1} for n in range(number * _ROWS, (number + 1) * _ROWS)]


def _rows(table: str) -> list[dict[str, Any]]:
    query = QueryBuilder().register("rows", open_delta_table(f"s3a://lake/{table}"))
    return pa.table(query.execute("SELECT * FROM rows").read_all()).to_pylist()


@pytest.mark.slow
def test_no_row_is_lost_or_doubled(s3: S3Server, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "in").mkdir(parents=True)
    (project / "pipeline.py").write_text(_PIPELINE)
    arrived: list[dict[str, int]] = []
    with HeldRequests(s3.port) as requests:
        conf = {**s3.settings(endpoint=requests.endpoint), "spark.sql.shuffle.partitions": "2"}
        (project / "penstock.yml").write_text(f"name: shop\nmaster: local[2]\nspark_conf: {json.dumps(conf)}\n")
        for number, (table, what) in enumerate(_KILLS):
            rows = _file(number)
            arrived += rows
            (project / f"in/{number}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            with requests.holding(rf"/lake/{table}/_delta_log/\d+\.json$", what), running("run", project) as command:
                command.wait_for(requests.held.is_set, what=f"the {what} of a commit of {table}")
        penstock("run", project).expect(0)
    good = [row for row in arrived if row["amount"] > 0]
    assert sorted(row["id"] for row in _rows("orders")) == [row["id"] for row in good]
    aside = sorted(row["id"] for row in _rows("orders__quarantine"))
    assert aside == [row["id"] for row in arrived if row["amount"] <= 0]
    sums: dict[int, int] = {}
    for row in good:
        sums[row["k"]] = sums.get(row["k"], 0) + row["amount"]
    assert {row["k"]: row["amount"] for row in _rows("by_key")} == sums
    assert len(_rows("by_key")) == len(sums)
    assert sorted((row["k"], row["id"]) for row in _rows("newest")) == sorted(
        {row["k"]: row["id"] for row in good}.items()
    )
    assert [row["amount"] for row in _rows("total")] == [sum(sums.values())]
