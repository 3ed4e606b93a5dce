"""kill -9 around the MERGE of a batch: each group has the value that its rows make, whichever batch was cut off."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.cli_runner import penstock, running
from tests.faults import dying
from tests.oracle.tables import assert_table

pytestmark = pytest.mark.usefixtures("one_process")

_FILES, _ROWS = 3, 20

_PIPELINE = """
import penstock as ps
from penstock.spark.writers import update_writer
from pyspark.sql import functions as F

update_writer.execute_merge = dying(update_writer.execute_merge)


@ps.table(output_mode="update")
def totals():
    rows = spark.readStream.schema("shop STRING, amount LONG").option("maxFilesPerTrigger", 1).json("in")
    return rows.groupBy("shop").agg(F.count("*").alias("rows"), F.sum("amount").alias("amount"))
"""


@pytest.mark.slow  # test_output_modes.py of tests/spark has a batch that runs again after its MERGE
@pytest.mark.timeout(600)
@pytest.mark.parametrize("dies_at", ["after:2", "before:2"])
def test_killed_around_a_merge(tmp_path: Path, dies_at: str) -> None:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n", encoding="utf-8")
    (tmp_path / "pipeline.py").write_text(Path(dying.__file__).read_text() + _PIPELINE, encoding="utf-8")
    (tmp_path / "in").mkdir()
    rows = [{"shop": f"shop {number % 7}", "amount": number} for number in range(_FILES * _ROWS)]
    for file in range(_FILES):
        lines = (json.dumps(row) + "\n" for row in rows[_ROWS * file : _ROWS * (file + 1)])
        (tmp_path / f"in/{file}.json").write_text("".join(lines), encoding="utf-8")
    with running("run", tmp_path, environ={"DIES_AT": dies_at}) as command:
        assert command.wait(300).exit_code == -signal.SIGKILL
    penstock("run", tmp_path).expect(0)
    amounts: dict[str, list[int]] = {}
    for row in rows:
        amounts.setdefault(str(row["shop"]), []).append(int(str(row["amount"])))
    table = tmp_path / ".penstock/tables/shop/totals"
    assert_table(table, [{"shop": shop, "rows": len(all_), "amount": sum(all_)} for shop, all_ in amounts.items()])
    merges = [each for each in DeltaTable(str(table)).history() if each["operation"] == "MERGE"]
    assert len(merges) == _FILES, "each batch was merged once"
