"""`penstock checkpoint repartition` in a process of its own, which has run no query before."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import penstock

from penstock.storage import Storage
from penstock.storage.checkpoint.state import state_partitions

_PIPELINE = """
import dlt

@dlt.table(spark_conf={"spark.sql.shuffle.partitions": "3"})
def orders():
    return spark.readStream.schema("id LONG").json("in").dropDuplicates(["id"])
"""


@pytest.mark.slow
def test_a_state_is_divided_and_nothing_but_the_answer_is_on_stdout(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\nmaster: local[2]\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/0.json").write_text('{"id": 1}\n{"id": 2}\n')
    penstock("run", tmp_path).expect(0)
    done = penstock("checkpoint", "repartition", "orders", tmp_path, "--partitions", "2", "--yes", "--json").expect(0)
    answer = done.document
    assert (answer["before"], answer["partitions"], answer["last_batch"]) == (3, 2, 1)
    assert "Dividing its state into 2 partitions" in done.stderr
    assert state_partitions(Storage(str(tmp_path / ".penstock/checkpoints/shop/orders/orders/0"))) == 2
    assert state_partitions(Storage(answer["kept"])) == 3
    assert penstock("checkpoint", "verify", tmp_path, "--json").expect(0).document["findings"] == []
