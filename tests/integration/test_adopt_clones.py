"""Shallow clones of the table of a plain Spark query, which is killed in a batch, taken over and run to the end."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import penstock
from tests.integration.plain_spark import plain_spark

pytestmark = [pytest.mark.usefixtures("one_process"), pytest.mark.timeout(600)]

_SCRIPT = """
import os, signal, time
from pathlib import Path

at, = arguments
spark = builder.getOrCreate()


def write(name, first, last, holds=None):
    ids = "".join(f'{{"id": {each}}}\\n' for each in range(first, last))
    Path(f"{at}/in/{first}.json").write_text(ids)
    read = spark.readStream.schema("id LONG").json(f"{at}/in")
    if holds is not None:
        read = read.selectExpr("id", f"IF({holds}, java_method('java.lang.Thread', 'sleep', 300000L), NULL) AS slept")
        read = read.where("slept IS NULL").drop("slept")
    stream = read.writeStream.format("delta").option("checkpointLocation", f"{at}/checkpoint")
    return stream.trigger(availableNow=True).start(f"{at}/{name}")


os.mkdir(f"{at}/in")
write("orders", 0, 10).awaitTermination()
write("orders", 10, 20).awaitTermination()
spark.sql(f"CREATE TABLE delta.`{at}/older` SHALLOW CLONE delta.`{at}/orders` VERSION AS OF 0")
spark.sql(f"CREATE TABLE delta.`{at}/clone` SHALLOW CLONE delta.`{at}/orders`")
write("orders", 20, 30, holds="id >= 20")
while not Path(f"{at}/checkpoint/offsets/2").exists():
    time.sleep(0.05)
os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
os._exit(9)
"""
_PIPELINE = """
import dlt

at = spark.conf.get("at")


@dlt.table(name=spark.conf.get("table"), path=f"{at}/{spark.conf.get('table')}")
def taken():
    return spark.readStream.schema("id LONG").json(f"{at}/in")
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clones with batches 0 and 0 to 1, and the checkpoint of the query, killed in batch 2."""
    at = tmp_path_factory.mktemp("cloned")
    done = subprocess.run(plain_spark(_SCRIPT, str(at)), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 9, done.stderr[-3000:]
    assert (at / "checkpoint/offsets/2").exists()
    assert not (at / "checkpoint/commits/2").exists()
    return at


def _project(made: Path, at: Path, table: str) -> Path:
    made.mkdir(exist_ok=True)
    settings = {"at": str(at), "table": table}
    (made / "penstock.yml").write_text(f"name: shop\nschema: shop\nconfiguration: {json.dumps(settings)}\n")
    (made / "pipeline.py").write_text(_PIPELINE)
    return made


def _refusal(made: Path, table: str, checkpoint: Path) -> Any:
    found = penstock("adopt", table, made, "--checkpoint", checkpoint, "--yes", "--json").expect(3)
    assert "[ADOPT_NOT_EXACT]" in found.stderr
    return found.stderr


def test_a_shallow_clone_goes_on_with_the_next_row(at: Path, tmp_path: Path) -> None:
    made = _project(tmp_path / "older", at, "older")
    assert "up to 0 only, and the checkpoint up to 1" in _refusal(made, "older", at / "checkpoint")

    made = _project(tmp_path / "project", at, "clone")
    finished = tmp_path / "finished"  # as if the query had died behind its commit to the table
    shutil.copytree(at / "checkpoint", finished)
    (finished / "offsets/2").unlink()
    (finished / "commits/1").unlink()
    assert "would write it again into a clone" in _refusal(made, "clone", finished)
    (at / "orders").rename(at / "away")
    assert "are not to be found (any more)" in _refusal(made, "clone", at / "checkpoint")
    (at / "away").rename(at / "orders")

    preview = penstock("adopt", "clone", made, "--checkpoint", at / "checkpoint", "--dry-run").expect(0)
    assert f"a shallow clone: rows of it lie in {at / 'orders'}" in preview.stderr
    found = penstock("adopt", "clone", made, "--checkpoint", at / "checkpoint", "--yes", "--json").expect(0)
    assert (found.document["last_batch"], found.document["in_flight"]) == (1, 2)
    penstock("run", made, "--json").expect(0)
    (at / "in/30.json").write_text('{"id": 30}\n')
    penstock("run", made, "--json").expect(0)
    counted = "SELECT count(*) AS rows, count(DISTINCT id) AS ids, min(id) AS first, max(id) AS last FROM clone"
    for engine in ("spark", "duckdb"):
        found = penstock("sql", counted, made, "--engine", engine, "--json").expect(0)
        assert found.document == [{"rows": 31, "ids": 31, "first": 0, "last": 30}]
    found = penstock("show", "clone", made, "--sort", "id", "--limit", "2", "--json").expect(0)
    assert found.document == [{"id": 0}, {"id": 1}]
    penstock("doctor", made, "--json").expect(0)
