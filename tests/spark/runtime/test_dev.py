"""A dev session: an edit, what it changes, and a storage that nobody has touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError
from penstock.graph.identifier import Identifier
from penstock.runtime.dev.results import DatasetOutcome, EditOutcome, SampleResult
from penstock.runtime.dev.session import DevSession
from penstock.runtime.project.workspace import Workspace, say_nothing

CODE = """\
@ps.table
def bronze():
    return spark.readStream.format("json").schema("id INT, amount DOUBLE").load("./in")

@ps.table
@ps.expect("small", "amount < 100")
@ps.expect_or_drop("positive", "amount > 0")
@ps.expect_or_fail("known", "id IS NOT NULL")
def silver():
    return ps.read_stream("bronze").select("id", "amount")

@ps.materialized_view
def total():
    return ps.read("silver").groupBy().agg(F.sum("amount").alias("total"))

@ps.materialized_view
def constant():
    return spark.range(3)
"""
ROWS = [{"id": 1, "amount": 5.0}, {"id": 2, "amount": -1.0}, {"id": 3, "amount": 200.0}, {"amount": 7.0}]


@pytest.fixture
def session(project: PipelineProject) -> Iterator[DevSession]:
    project.write(CODE)
    project.arrive("one", ROWS)
    workspace = Workspace.open(project.config, say_nothing, spark=project.spark)
    session = DevSession(workspace, lambda: project.config)
    yield session
    session.close()


def edit(session: DevSession, project: PipelineProject, before: str = "", after: str = "") -> EditOutcome:
    assert before in CODE
    project.write(CODE.replace(before, after) if before else CODE)
    return session.refresh(say_nothing)


def outcome(edited: EditOutcome, name: str) -> DatasetOutcome:
    [found] = [each for each in edited.datasets if each.dataset.name == name]
    return found


def rows(edited: EditOutcome, name: str) -> list[tuple[object, ...]]:
    found = outcome(edited, name)
    assert found.result is not None, found.error
    return sorted(found.result.rows, key=repr)


def names(edited: EditOutcome) -> list[str]:
    return [each.dataset.name for each in edited.datasets]


def content(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_first_look_computes_all_without_a_storage(session: DevSession, project: PipelineProject) -> None:
    first = session.refresh(say_nothing)
    assert not first.errors
    assert set(names(first)) == {"bronze", "silver", "total", "constant"}
    assert rows(first, "silver") == [(1, 5.0), (3, 200.0)]
    assert rows(first, "total") == [(205.0,)]
    result = outcome(first, "silver").result
    assert isinstance(result, SampleResult)
    counts = {each.name: (each.passed_records, each.failed_records) for each in result.expectations}
    assert counts == {"small": (3, 1), "positive": (3, 1), "known": (3, 1)}
    assert not (project.directory / ".penstock").exists()


def test_an_edit_computes_what_changed_and_its_readers(session: DevSession, project: PipelineProject) -> None:
    session.refresh(say_nothing)
    edited = edit(session, project, "amount > 0", "amount > 10")
    assert names(edited) == ["silver", "total"]
    change = outcome(edited, "silver").change
    assert change is not None
    assert [(row.in_left, row.values) for row in change.rows.rows] == [(True, (1, 5.0))]
    assert rows(edited, "total") == [(200.0,)]


def test_an_edit_of_places_and_comments_computes_nothing(session: DevSession, project: PipelineProject) -> None:
    session.refresh(say_nothing)
    project.write("# one\n\n\n" + CODE)
    assert names(session.refresh(say_nothing)) == []
    project.write("\n" + CODE.replace("amount < 100", "amonut < 100"))
    [error] = session.refresh(say_nothing).errors
    assert error.location is not None
    assert error.location.line == 5 + 1 + CODE[: CODE.index("amount < 100")].count("\n") + 1


def test_errors_have_places_and_the_session_goes_on(session: DevSession, project: PipelineProject) -> None:
    session.refresh(say_nothing)
    for before, after, condition in (
        ('"id", "amount")', '"id", "amonut")', "QUERY_ANALYSIS_FAILED"),
        ('ps.read("silver")', 'ps.read("sliver")', "TABLE_OR_VIEW_NOT_FOUND"),
        ("def total()", "deff total()", "SYNTAX_ERROR_IN_PIPELINE_FILE"),
    ):
        [error] = edit(session, project, before, after).errors
        assert error.condition == condition
        assert error.location is not None
        assert error.location.path == "pipeline.py"
    (project.directory / "pipeline.py").unlink()
    assert [each.condition for each in session.refresh(say_nothing).errors] == ["CONFIG_NO_SOURCE_FILES"]
    mended = edit(session, project, "amount > 0", "amount > 10")
    assert names(mended) == ["silver", "total"]


def test_data_that_fails_a_query_leaves_out_its_readers_until_it_is_mended(
    session: DevSession, project: PipelineProject
) -> None:
    session.refresh(say_nothing)
    failing = edit(
        session,
        project,
        'select("id", "amount")',
        "select(\"id\", F.raise_error(F.lit('no')).cast('double').alias('amount'))",
    )
    assert names(failing) == ["silver"]
    assert outcome(failing, "silver").error is not None
    mended = edit(session, project)
    assert names(mended) == ["silver", "total"]
    assert rows(mended, "total") == [(205.0,)]


def test_a_new_column_and_a_dataset_that_comes_and_goes(session: DevSession, project: PipelineProject) -> None:
    session.refresh(say_nothing)
    more = edit(session, project, 'select("id", "amount")', 'select("id", "amount", F.lit(1).alias("one"))')
    change = outcome(more, "silver").change
    assert change is not None
    assert change.columns == ("+ one int",)
    assert change.rows.same
    project.write(CODE + "\n@ps.view\ndef empty():\n    return ps.read('silver').where('false')\n")
    assert rows(session.refresh(say_nothing), "empty") == []
    assert [each.name for each in edit(session, project).removed] == ["empty"]


def test_the_storage_is_read_until_a_table_is_edited_and_never_written(
    session: DevSession, project: PipelineProject
) -> None:
    project.write(CODE.replace('@ps.expect_or_fail("known", "id IS NOT NULL")', ""))
    project.run()
    project.arrive("two", [{"id": 9, "amount": 50.0}])  # no run has seen it
    before = content(project.directory / ".penstock")
    first = session.refresh(say_nothing)
    assert rows(first, "total") == [(212.0,)], "the stored rows of silver"
    edited = edit(session, project, "amount > 0", "amount > 10")
    assert rows(edited, "silver") == [(3, 200.0)], "the stored rows of bronze"
    assert rows(edited, "total") == [(200.0,)], "the sample of what is edited"
    assert content(project.directory / ".penstock") == before


def test_a_sample_is_bounded(session: DevSession) -> None:
    first = DevSession(session.workspace, session.load, rows=2).refresh(say_nothing)
    result = outcome(first, "constant").result
    assert result is not None
    assert (len(result.rows), result.whole) == (2, False)
    assert len(rows(first, "bronze")) == 2


def test_samples_that_nothing_reads_any_more_are_released(session: DevSession, project: PipelineProject) -> None:
    def held(schema: str) -> bool:
        files = project.spark.read.json(str(project.directory / "in"), schema=schema)
        return bool(files.limit(1000).storageLevel.useMemory)

    session.refresh(say_nothing)
    before, after = "id INT, amount DOUBLE", "id INT, amount DOUBLE, n INT"
    assert (held(before), held(after)) == (True, False)
    assert not edit(session, project, before, after).errors
    assert (held(before), held(after)) == (False, True)
    session.close()
    assert not held(after)


def test_settings_of_spark_that_have_changed_are_named(session: DevSession, project: PipelineProject) -> None:
    assert not session.refresh(say_nothing).warnings
    project.settings["spark_conf"] = "{spark.executor.cores: 3}"
    [warning] = session.refresh(say_nothing).warnings
    assert warning.condition == "DEV_SETTINGS_CHANGED"
    assert warning.facts["settings"] == "spark.executor.cores"


def test_who_may_not_read_a_table_sees_no_row(session: DevSession) -> None:
    def check(tables: Iterable[Identifier]) -> None:
        for table in tables:
            if table.name == "silver":
                raise StateError("INSUFFICIENT_PERMISSIONS", user="eve", name=table, principal="eve")

    session.check = check
    with pytest.raises(StateError, match="INSUFFICIENT_PERMISSIONS"):
        session.refresh(say_nothing)


def test_rows_behind_a_row_filter_are_private_downstream_too(session: DevSession, project: PipelineProject) -> None:
    project.write(
        CODE.replace("@ps.table\n@ps.expect(", '@ps.table(row_filter="ROW FILTER isnotnull ON (id)")\n@ps.expect(')
    )
    first = session.refresh(say_nothing)
    assert not first.errors
    private = {each.dataset.name for each in first.datasets if each.result is not None and each.result.private}
    assert private == {"silver", "total"}


def test_the_metadata_of_files_is_there_and_the_session_reads_no_new_rows(
    session: DevSession, project: PipelineProject
) -> None:
    asked = 'F.element_at(F.split("_metadata.file_name", "[.]"), 1).alias("file")'
    project.write(CODE.replace('.load("./in")', f'.load("./in").select("id", "amount", {asked})'))
    first = session.refresh(say_nothing)
    assert {row[-1] for row in rows(first, "bronze")} == {"one"}
    project.arrive("two", [{"id": 9, "amount": 50.0}])
    again = edit(session, project, '.load("./in")', '.load("./in").where("true")')
    assert len(rows(again, "bronze")) == len(ROWS)
