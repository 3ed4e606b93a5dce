"""A script's file, and the function of `foreachBatch`, as Python sees them; needs no JVM."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.runtime.script.rules.writes import distinguishes_batches
from penstock.runtime.script.user_code import UserCode, script_error


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("df = spark.readStream", True),
        ("from shop import spark\nspark.sql('')", False),
        ("spark = make()\nspark.sql('')", False),
        ("def run(spark):\n    spark.sql('')", False),
        ("print('spark')", False),
    ],
)
def test_spark_is_given_to_a_script_that_does_not_make_it(text: str, wanted: bool, tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(text)
    assert UserCode.read(file).wants_session is wanted


def test_a_script_is_the_main_module_with_its_arguments_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / "helper_of_script.py").write_text("VALUE = 7\n")
    file = tmp_path / "app.py"
    file.write_text(
        "import sys\nfrom helper_of_script import VALUE\n"
        "assert (__name__, VALUE, sys.argv[1:]) == ('__main__', 7, ['--day', '1'])\n"
        "assert sys.modules['__main__'].VALUE == 7\n"
    )
    before = (sys.modules["__main__"], list(sys.path), sys.argv)
    UserCode.read(file).run(["--day", "1"], None)
    assert (sys.modules["__main__"], list(sys.path), sys.argv) == before
    del sys.modules["helper_of_script"]


@pytest.mark.parametrize(
    ("text", "condition", "place"),
    [
        ("x = (\n", "SYNTAX_ERROR_IN_PIPELINE_FILE", "app.py:1"),
        ("\nopen('/no/such/file')\n", "SCRIPT_FAILED", "app.py:2"),
        ("\n\nimport dlt\n", "SCRIPT_IS_PIPELINE", "app.py:3"),
    ],
)
def test_errors_name_the_line(text: str, condition: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(text)
    try:
        UserCode.read(file).run([], None)
    except PenstockError as error:
        found = error
    except Exception as error:  # noqa: BLE001 - whatever the script raises
        found = script_error(error, file)
    assert (found.condition, str(found.location)) == (condition, place)


def _plain(rows: Any, batch_id: int) -> None:
    rows.write.save("x")


def _by_id(rows: Any, batch_id: int) -> None:
    rows.write.option("txnVersion", batch_id).save("x")


def _by_id_inside(rows: Any, batch_id: int) -> None:
    def write() -> None:
        rows.write.save(str(batch_id))

    write()


def _merging(rows: Any, batch_id: int) -> None:
    rows.sparkSession.sql("MERGE INTO t USING s ON t.id = s.id")


def _two_at_once(rows: Any, batch_id: int) -> tuple[Any, int]:
    return (rows, batch_id)


class _Writer:
    def plain(self, rows: Any, batch_id: int) -> None:
        rows.write.save("x")

    def by_id(self, rows: Any, batch_id: int) -> None:
        rows.write.save(f"x/{batch_id}")


@pytest.mark.parametrize(
    ("function", "apart"),
    [
        (_plain, False),
        (_Writer().plain, False),
        (lambda rows, _: rows.write.save("x"), False),
        (_by_id, True),
        (_by_id_inside, True),
        (_merging, True),
        (_two_at_once, True),
        (_Writer().by_id, True),
        (lambda *arguments: None, True),
        (print, True),
    ],
)
def test_a_function_that_cannot_know_a_repeated_batch_is_recognised(function: Callable[..., Any], apart: bool) -> None:
    assert distinguishes_batches(function) is apart
