from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.stream_definition import StreamDefinition
from penstock.plan.stream_changes import compare_streams

from .stream_edits import EDITS, SOURCES

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = {name: number for number, name in enumerate(EDITS)}


@pytest.fixture(scope="module")
def definitions(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, StreamDefinition], dict[str, StreamDefinition]]:
    """The definitions of all queries before and after their edit, from two analyses of one pipeline."""
    folder = tmp_path_factory.mktemp("edits")
    return _definitions(spark, folder, after=False), _definitions(spark, folder, after=True)


def _definitions(spark: SparkSession, folder: Path, *, after: bool) -> dict[str, StreamDefinition]:
    project = PipelineProject(folder, spark)
    for source in ("in", "refunds", "shops"):
        (folder / source).mkdir(exist_ok=True)
    queries = "".join(
        f"\n@ps.table\ndef edit_{NUMBERS[name]}():\n    return {edit.after if after else edit.before}\n"
        for name, edit in EDITS.items()
    )
    project.write(SOURCES + queries)
    report = project.validate()
    assert report.graph is not None, "\n".join(f"{error.location} {error.message}" for error in report.errors)
    streams = {flow.declaration.name: flow.stream for flow in report.graph.flows}
    found = {name: streams[f"edit_{number}"] for name, number in NUMBERS.items()}
    return {name: stream for name, stream in found.items() if stream is not None}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_called_what_it_is(
    name: str, definitions: tuple[dict[str, StreamDefinition], dict[str, StreamDefinition]]
) -> None:
    before, after = definitions
    changes = compare_streams(before[name], after[name], started=True)
    assert changes.verdict is EDITS[name].verdict, changes.describe()
