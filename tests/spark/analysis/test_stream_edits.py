from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.stream_definition import StreamDefinition
from penstock.plan.stream_changes import compare_streams

from .stream_edits import EDITS, SOURCES, Edit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


# Slow: each has a sibling of its kind among those that stay, whose query differs in the same part.
_SLOW = {
    *("written in another way", "another limit", "a column less", "a source less", "an outer static join"),
    *("other files", "the same source outside", "a function of each element", "functions in a function"),
    *("the same common table expression", "keys in another order", "another slide", "windows that start later"),
    *("windows over another column", "another gap", "another function", "functions in another order"),
    *("another column summed", "a filter after", "computed from the sum", "the same first fields"),
    *("a list that is not used any more", "a list that was never used", "counted by another key"),
    *("duplicates by another column", "state of one's own in pandas", "an outer join"),
    *(f"fields of {name} in another order" for name in ("last", "any_value", "collect_set", "min", "max_by")),
    *("fields of array_agg in another order", "the same state as before transformWithState"),
}


@pytest.fixture(scope="module")
def definitions(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[dict[str, StreamDefinition], dict[str, StreamDefinition]]:
    """The definitions of the queries before the edits, and of those after them, from two analyses of one pipeline.

    Of the edits that are tested; a query that begins several of them is in it once.
    """
    folder = tmp_path_factory.mktemp("edits")
    tested = [each for each in request.session.items if isinstance(each, pytest.Function) and each.path == request.path]
    edits = [cast("Edit", each.callspec.params["edit"]) for each in tested]
    before, after = (edit.before for edit in edits), (edit.after for edit in edits)
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


@pytest.mark.parametrize(
    "edit",
    [pytest.param(edit, id=name, marks=[pytest.mark.slow] * (name in _SLOW)) for name, edit in EDITS.items()],
)
def test_an_edit_is_called_what_it_is(
    edit: Edit, definitions: tuple[dict[str, StreamDefinition], dict[str, StreamDefinition]]
) -> None:
    before, after = definitions
    changes = compare_streams(before[edit.before], after[edit.after], started=True)
    assert changes.verdict is edit.verdict, changes.describe()
