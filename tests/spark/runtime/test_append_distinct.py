"""SELECT DISTINCT of a stream, and streams that read its table."""

from __future__ import annotations

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.analysis import query
from penstock.events import UpdateState
from penstock.runtime.flows import services

_OLD = """
CREATE STREAMING TABLE old AS
SELECT DISTINCT k, v FROM STREAM read_files('in', format => 'json', schema => 'k INT, v STRING');
"""
_NEW = """
CREATE STREAMING TABLE new AS
SELECT DISTINCT k, v FROM STREAM read_files('in', format => 'json', schema => 'k INT, v STRING');
CREATE STREAMING TABLE of_new AS SELECT k, v FROM STREAM new;
"""


def test_select_distinct_appends_and_a_table_that_began_in_complete_mode_goes_on(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = project.directory / "pipeline.sql"
    sql.write_text(_OLD, encoding="utf-8")
    project.arrive("a", [{"k": 1, "v": "x"}, {"k": 1, "v": "x"}, {"k": 2, "v": None}])
    with monkeypatch.context() as before:
        for module in (query, services):
            before.setattr(module, "append_distinct", lambda frame: frame)
        assert project.run().state is UpdateState.COMPLETED

    sql.write_text(_OLD + _NEW, encoding="utf-8")
    for name, value in (("b", "y"), ("c", "z")):
        project.arrive(name, [{"k": 2, "v": None}, {"k": 1, "v": "x"}, {"k": 3, "v": value}])
        assert project.run().state is UpdateState.COMPLETED
    for table in ("old", "new", "of_new"):
        assert project.rows(table, "k", "v") == [(1, "x"), (2, None), (3, "y"), (3, "z")], table

    sql.write_text(_OLD + "CREATE STREAMING TABLE of_old AS SELECT k FROM STREAM old;", encoding="utf-8")
    [error] = project.validate().errors
    assert error.condition == "STREAMING_READ_OF_REWRITTEN_TABLE"
    assert "DISTINCT" in str(error.facts["reason"])
