"""docs/how-to/auto-loader.md: its pipelines run together as they are printed, and its queries name their files."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.cli.file_state import CLOUD_FILES_STATE, FileState
from penstock.runtime.commands.query import run_sql

_PAGE = blocks(ROOT / "docs/how-to/auto-loader.md")


@pytest.mark.slow
def test_the_page_runs(project: PipelineProject) -> None:
    pipelines = [block.text for block in _PAGE if block.kind == "python"]
    assert len(pipelines) == 5
    (project.directory / "pipeline.py").write_text("\n\n".join(pipelines))
    (project.directory / "data").mkdir()
    first: dict[str, dict[str, Any]] = {
        "orders": {"id": 1, "amount": 5},
        "payments": {"id": 1, "amount": 1.5},
        "events": {"kind": "sale", "deep": {"x": 1}},
        "returns": {"id": 1},
        "prices": {"product": "tea", "price": "2.50"},
    }
    for folder, row in first.items():
        project.arrive("1", [row], folder=f"data/{folder}")
    (project.directory / "data/orders/broken.json").write_text("no JSON\n")
    assert project.run().errors == ()

    project.arrive("2", [{"id": 2, "amount": "many", "note": "a gift"}], folder="data/orders")
    project.arrive("2", [{"id": 3_000_000_000, "amount": 123456789.25}], folder="data/payments")
    project.arrive("1", [{"product": "tea", "price": "2.75"}], folder="data/prices")
    assert project.run().errors == ()
    orders = {row[0]: row[1:] for row in project.rows("bronze_orders", "id", "amount", "note", "_rescued_data")}
    assert (orders[1], orders[2][:2]) == ((5, None, None), (None, "a gift"))
    rescued = {number: json.loads(orders[number][-1]) for number in (2, None)}
    assert (rescued[2]["amount"], rescued[None]["_corrupt_record"]) == ("many", "no JSON")
    widened = project.spark.read.format("delta").load(str(project.path("bronze_payments")))
    payments = widened.select("id", "amount").orderBy("id")
    assert payments.dtypes == [("id", "bigint"), ("amount", "decimal(11,2)")]
    assert [row["id"] for row in payments.collect()] == [1, 3_000_000_000]
    assert project.rows("events", "kind") == ["sale"]
    assert project.rows("bronze_returns", "id") == ["1"]
    assert (project.directory / "data/returns/1.json").exists(), "it stays for fourteen days"
    assert project.rows("prices", "price") == ["2.50", "2.75"], "all rows of a changed file come again"
    assert {path.rpartition("/")[2] for path in project.rows("prices", "file_path")} == {"1.json"}

    files = FileState(project.config)
    known, functions = {CLOUD_FILES_STATE: files.view()}, {CLOUD_FILES_STATE: files.function()}
    queries = [shlex.split(block.text)[2] for block in _PAGE if block.kind == "sh"]
    loaded, waiting = (
        run_sql(project.config, query, spark=project.spark, views=known, functions=functions)[1] for query in queries
    )
    assert sorted(path.rpartition("/")[2] for path, _, _ in loaded) == ["1.json", "2.json", "broken.json"]
    assert ({state for _, state, _ in loaded}, waiting) == ({"INGESTED"}, [])
