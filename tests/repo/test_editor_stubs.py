"""`penstock stubs`: the files, what mypy makes of them, and that nothing of the user's is replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock
from penstock.cli.main import app
from penstock.declare import SPELLINGS

_PIPELINE = """\
from typing import TYPE_CHECKING

import dlt
import penstock as ps
from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    spark: SparkSession

dlt.create_sink("out", "kafka", {"topic": "orders"})
ps.create_streaming_table("target", comment="words", expect_all={"good": "id > 0"})


@dlt.table(name="orders", table_properties={"a": "b"})
@dlt.expect_or_drop("good", "id > 0")
def orders() -> DataFrame:
    return spark.readStream.format("rate").load()


@ps.view
def recent() -> DataFrame:
    return dlt.read_stream("orders")


@dlt.append_flow(target="out", once=False)
def flow() -> DataFrame:
    return recent()


@dlt.foreach_batch_sink(name="function")
def write(df: DataFrame, batch_id: int) -> None:
    df.write.save(str(batch_id))


@dlt.on_event_hook(max_allowable_consecutive_failures=3)
def notify(event: dict[str, object]) -> None:
    print(event["message"])


dlt.enable_local_execution()
"""
_MISTAKES = """\
import dlt


@dlt.table(nmae="orders")
def orders() -> None: ...


@dlt.append_flow()
def flow() -> None: ...


dlt.create_sink("out", "kafka", {"retries": 3})
dlt.no_such_name
"""


def _mypy(folder: Path) -> str:
    source = Path(penstock.__file__).parents[1]
    (folder / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {folder / 'typings'}:{source}\n"
        "[mypy-penstock.*]\nfollow_imports = silent\n[mypy-pyspark.*]\nfollow_imports = skip\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--config-file", str(folder / "mypy.ini"), "--no-incremental"]
    return subprocess.run(
        [*command, "pipeline.py", "mistakes.py"], cwd=folder, check=False, capture_output=True, text=True
    ).stdout


def test_a_pipeline_file_is_checked_against_the_real_signatures(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["stubs", str(tmp_path)])
    assert made.exit_code == 0, made.output
    (tmp_path / "pipeline.py").write_text(_PIPELINE, encoding="utf-8")
    (tmp_path / "mistakes.py").write_text(_MISTAKES, encoding="utf-8")
    complaints = _mypy(tmp_path)
    found = {line.partition(": error")[0] for line in complaints.splitlines() if ": error" in line}
    assert found == {f"mistakes.py:{line}" for line in (4, 8, 12, 13)}, complaints


@pytest.mark.parametrize(("file", "spelling"), [("dlt", "dlt"), ("pyspark/pipelines", "pyspark.pipelines")])
def test_the_stubs_hold_every_name(tmp_path: Path, file: str, spelling: str) -> None:
    CliRunner().invoke(app, ["stubs", str(tmp_path)])
    text = (tmp_path / "typings" / file / "__init__.pyi").read_text(encoding="utf-8")
    missing = [name for name in SPELLINGS[spelling] if f" {name}\n" not in text and f"def {name}(" not in text]
    assert missing == []


def test_a_second_time_replaces_our_files_only(tmp_path: Path) -> None:
    for _ in range(2):
        assert CliRunner().invoke(app, ["stubs", str(tmp_path)]).exit_code == 0
    other = tmp_path / "typings" / "__builtins__.pyi"
    other.write_text("mine: int\n", encoding="utf-8")
    (tmp_path / "typings" / "dlt" / "__init__.pyi").unlink()
    refused = CliRunner().invoke(app, ["stubs", str(tmp_path)])
    assert refused.exit_code == 2
    assert "STUB_FILE_EXISTS" in refused.output
    assert other.read_text(encoding="utf-8") == "mine: int\n"
    assert not (tmp_path / "typings" / "dlt" / "__init__.pyi").exists(), "nothing was written"
