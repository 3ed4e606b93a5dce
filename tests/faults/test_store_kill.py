"""kill -9 while a table in an object store is committed, or what a storage there holds is written: each row is once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from tests.cli_runner import penstock, running
from tests.faults.held_requests import HeldRequests
from tests.integration.store_server import SERVERS, StoreServer, store_server, used_by_this_process

from penstock.storage.delta.table import open_delta_table

_PIPELINE = """
import dlt
import penstock as ps
from pyspark.sql import functions as F


@dlt.table(path="LAKE/orders")
@dlt.expect_or_quarantine("real", "amount > 0")
def orders():
    return spark.readStream.schema("id LONG, k LONG, amount LONG").option("maxFilesPerTrigger", 1).json("in")


@ps.table(path="LAKE/by_key", output_mode="update")
def by_key():
    return spark.readStream.table("orders").groupBy("k").agg(F.sum("amount").alias("amount"))


dlt.create_streaming_table("newest", path="LAKE/newest")
dlt.apply_changes(target="newest", source="orders", keys=["k"], sequence_by="id", stored_as_scd_type=1)


@dlt.table(path="LAKE/total")
def total():
    return spark.read.table("orders").agg(F.sum("amount").alias("amount"))
"""
_Kills = tuple[tuple[str, Literal["request", "answer"]], ...]
_KILLS: Final[_Kills] = (
    (r"orders/_delta_log/\d+\.json", "request"),
    (r"orders/_delta_log/\d+\.json", "answer"),
    (r"orders__quarantine/_delta_log/\d+\.json", "answer"),
    (r"by_key/_delta_log/\d+\.json", "request"),
    (r"newest/_delta_log/\d+\.json", "answer"),
    (r"total/_delta_log/\d+\.json", "request"),
)
_KILLS_OF_THE_STORAGE: Final[_Kills] = (
    (r"lock\.json", "answer"),
    (r"events/\d+-\d+\.jsonl", "answer"),
    (r"checkpoints/shop/orders/orders/0/offsets/\d+", "request"),
    (r"checkpoints/shop/orders/orders/0/offsets/\d+", "answer"),
    (r"checkpoints/shop/orders/orders/0/commits/\d+", "request"),
    (r"checkpoints/shop/by_key/by_key/0/state/.*", "request"),
    (r"changes/shop/newest/0/_delta_log/\d+\.json", "answer"),
    (r"tables/shop/by_key/_delta_log/\d+\.json", "answer"),
)
_ROWS: Final = 20


@pytest.fixture(params=SERVERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreServer]:
    with store_server(request.param, tmp_path) as server, used_by_this_process(server):
        yield server


def _file(number: int) -> list[dict[str, int]]:
    return [{"id": n, "k": n % 7, "amount": n % 11 - 1} for n in range(number * _ROWS, (number + 1) * _ROWS)]


def _rows(table: str) -> list[dict[str, Any]]:
    query = QueryBuilder().register("rows", open_delta_table(table))
    return pa.table(query.execute("SELECT * FROM rows").read_all()).to_pylist()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("kills", "place"), [(_KILLS, "lake"), (_KILLS_OF_THE_STORAGE, "lake/storage")], ids=["tables", "storage"]
)
def test_no_row_is_lost_or_doubled(kills: _Kills, place: str, store: StoreServer, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "in").mkdir(parents=True)
    lake = store.bucket("lake")
    in_storage = place != "lake"
    code = re.sub(r'path="[^"]*"(, )?', "", _PIPELINE) if in_storage else _PIPELINE.replace("LAKE", lake)
    settings = f"name: shop\nschema: shop\nstorage: {lake}/storage\n" if in_storage else "name: shop\n"
    (project / "pipeline.py").write_text(code)
    arrived: list[dict[str, int]] = []
    with HeldRequests(store.port) as requests:
        conf = {**store.settings_at(requests.address), "spark.sql.shuffle.partitions": "2"}
        (project / "penstock.yml").write_text(f"{settings}master: local[2]\nspark_conf: {json.dumps(conf)}\n")
        for number, (key, what) in enumerate(kills):
            rows = _file(number)
            arrived += rows
            (project / f"in/{number}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            with requests.holding(rf"/{place}/{key}$", what), running("run", project) as command:
                command.wait_for(requests.held.is_set, what=f"the {what} of {key}")
        penstock("run", project).expect(0)
        if in_storage:
            penstock("checkpoint", "verify", project).expect(0)
            assert "batches balanced" in penstock("status", project).expect(0).stdout
    tables = f"{lake}/storage/tables/shop" if in_storage else lake
    good = [row for row in arrived if row["amount"] > 0]
    assert sorted(row["id"] for row in _rows(f"{tables}/orders")) == [row["id"] for row in good]
    aside = sorted(row["id"] for row in _rows(f"{tables}/orders__quarantine"))
    assert aside == [row["id"] for row in arrived if row["amount"] <= 0]
    sums: dict[int, int] = {}
    for row in good:
        sums[row["k"]] = sums.get(row["k"], 0) + row["amount"]
    assert {row["k"]: row["amount"] for row in _rows(f"{tables}/by_key")} == sums
    assert len(_rows(f"{tables}/by_key")) == len(sums)
    assert sorted((row["k"], row["id"]) for row in _rows(f"{tables}/newest")) == sorted(
        {row["k"]: row["id"] for row in good}.items()
    )
    assert [row["amount"] for row in _rows(f"{tables}/total")] == [sum(sums.values())]
    assert not in_storage or not (project / ".penstock").exists()
