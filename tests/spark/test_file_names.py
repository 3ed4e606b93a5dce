"""Streams of files whose names and folders hold characters that mean something to Spark, Hadoop or a URI."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from tests.spark.pipeline_project import PipelineProject

from penstock.events import UpdateState

_NAMES = (
    *("a*", "ab", "a?", "a[b]", "{x,y}", "c{1}", "[", "back\\slash"),
    *("a blank", "p%20q", "h#h", "a\nline", "z" * 200),
    *(unicodedata.normalize(form, "é") for form in ("NFC", "NFD")),
)

_CODE = """
    @dp.table
    def plain():
        return spark.readStream.schema("i INT").json("in")

    @dp.table
    def escaped():
        return spark.readStream.format("json").schema("i INT").load(r"one \\[1\\]")

    @dp.table
    def partitioned():
        return spark.readStream.schema("i INT, part STRING").json("parts")
"""


def _files(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, name in enumerate(_NAMES):
        (folder / name).write_text(json.dumps({"i": number}) + "\n", encoding="utf-8")


def test_each_file_is_read_once_whatever_its_name_is(project: PipelineProject) -> None:
    project.write(_CODE)
    _files(project.directory / "in")
    _files(project.directory / "one [1]")
    values = ("a*", "ab", "c{1}")
    for value in values:
        folder = project.directory / "parts" / f"part={value}"
        folder.mkdir(parents=True)
        (folder / "a*").write_text('{"i": 1}\n')

    assert project.run().state is UpdateState.COMPLETED
    once = list(range(len(_NAMES)))
    for table in ("plain", "escaped"):
        assert project.rows(table, "i") == once, table
    assert project.rows("partitioned", "part", "i") == sorted((value, 1) for value in values)


def test_folder_that_its_own_path_does_not_match_is_named(project: PipelineProject) -> None:
    (project.directory / "one[1]").mkdir()
    project.write(
        """
        @dp.table
        def plain():
            return spark.readStream.schema("i INT").json("one[1]")

        @dp.table
        def loaded():
            return spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("one[1]")
        """
    )
    errors = project.validate().errors
    assert [error.condition for error in errors] == ["PATH_READ_AS_PATTERN"] * 2
    assert {str(error.facts["escaped"]).rpartition("/")[2] for error in errors} == {r"one\[1\]"}
