from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.stream_definition import StreamDefinition
from penstock.plan.stream_changes import compare_streams

from .stream_edits import EDITS, SOURCES, Edit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@pytest.fixture(scope="module")
def definitions(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, StreamDefinition], dict[str, StreamDefinition]]:
    """The definitions of the queries before the edits, and of those after them, from two analyses of one pipeline.

    A query that begins several edits is in it once.
    """
    folder = tmp_path_factory.mktemp("edits")
    before, after = (edit.before for edit in EDITS.values()), (edit.after for edit in EDITS.values())
    return _definitions(spark, folder, before), _definitions(spark, folder, after)


def _definitions(spark: SparkSession, folder: Path, queries: Iterable[str]) -> dict[str, StreamDefinition]:
    project = PipelineProject(folder, spark)
    for source in ("in", "refunds", "shops"):
        (folder / source).mkdir(exist_ok=True)
    tables = {query: f"edit_{number}" for number, query in enumerate(dict.fromkeys(queries))}
    code = (f"\n@ps.table\ndef {name}():\n    return {query}\n" for query, name in tables.items())
    project.write(SOURCES + "".join(code))
    report = project.validate()
    assert report.graph is not None, "\n".join(f"{error.location} {error.message}" for error in report.errors)
    streams = {flow.declaration.name: flow.stream for flow in report.graph.flows}
    found = {query: streams[name] for query, name in tables.items()}
    return {query: stream for query, stream in found.items() if stream is not None}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_called_what_it_is(
    edit: Edit, definitions: tuple[dict[str, StreamDefinition], dict[str, StreamDefinition]]
) -> None:
    before, after = definitions
    changes = compare_streams(before[edit.before], after[edit.after], started=True)
    assert changes.verdict is edit.verdict, changes.describe()
