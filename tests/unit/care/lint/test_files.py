"""The files that `penstock lint` reads: scripts, notebooks, and what is neither; what is ignored and mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.care.lint.fixing import apply_fixes
from penstock.care.lint.linting import lint
from penstock.errors import ConfigError

ONCE = (
    'spark.readStream.table("a").writeStream.option("checkpointLocation", "s3a://cp").trigger(once=True).toTable("b")\n'
)


def names(*paths: Path) -> list[str]:
    return [finding.rule.name for finding in lint(paths).findings]


def test_a_folder_is_looked_through_and_what_others_installed_is_not(tmp_path: Path) -> None:
    for place in ("a.py", "jobs/b.py", ".venv/lib/c.py", "jobs/notes.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(f"def job():\n    return {ONCE}")
    report = lint([tmp_path])
    assert report.files == 2
    assert [Path(each.place.path).name for each in report.findings] == ["a.py", "b.py"]
    first = report.findings[0].place
    assert (first.line, first.column) == (2, f"    return {ONCE}".index("once=True") + 1)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        lint([tmp_path / "jobs"])
    assert refused.value.condition == "LINT_PATH_NOT_FOUND"


def test_a_comment_in_the_line_or_above_takes_a_finding_away(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_text(
        f"def one():\n    return {ONCE.strip()}  # penstock: ignore[trigger-once] an old job\n"
        f"def two():\n    # penstock: ignore[mount-path, trigger-once]\n    return {ONCE}"
        f"def three():\n    # penstock: ignore[mount-path]\n    return {ONCE}"
    )
    report = lint([script])
    assert [each.place.line for each in report.findings] == [8]
    assert report.ignored == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def broken(:\n", "invalid syntax"),
        ('print "orders"\n', "Python 2"),
        ("x = '\0'\n", "null"),
        ("(" * 500 + ")" * 500, "nested"),
    ],
)
def test_what_is_no_python_is_named_and_the_others_are_looked_at(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text(f"def job():\n    return {ONCE}")
    report = lint([tmp_path])
    [error] = report.errors
    assert error.condition == "LINT_SYNTAX_ERROR"
    assert reason in error.facts["reason"]
    assert [each.rule.name for each in report.findings] == ["trigger-once"]


@pytest.mark.parametrize("name", ["a.py", "a.sql", "a.ipynb"])
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x7fELF\x02\x01\0\0", b"PK\x03\x04\0\xf1"])
def test_what_is_no_text_is_named(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    [error] = lint([tmp_path]).errors
    assert error.condition in {"LINT_FILE_UNREADABLE", "LINT_SYNTAX_ERROR"}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"cells": 1}', '{"cells": [{}]}', '{"cells": [], "metadata": 1}'])
def test_what_is_no_notebook_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    [error] = lint([tmp_path]).errors
    assert error.condition == "LINT_FILE_UNREADABLE"
    assert "notebook" in error.facts["reason"]


@pytest.mark.parametrize("name", ["a.py", "a.sql"])
def test_an_empty_file_has_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("")
    report = lint([tmp_path])
    assert (report.files, report.findings, report.errors) == (1, (), ())


@pytest.mark.parametrize("name", ["a.py", "a.sql", "a.ipynb"])
def test_a_huge_file_is_named_and_not_parsed(name: str, tmp_path: Path) -> None:
    code = "-- x = 1\n" * 300_000
    cells = {"cells": [{"cell_type": "code", "source": code}]}
    (tmp_path / name).write_text(json.dumps(cells) if name.endswith(".ipynb") else code)
    [error] = lint([tmp_path]).errors
    assert error.condition == "LINT_FILE_UNREADABLE"
    assert "characters of code" in error.facts["reason"]


def test_cells_of_a_notebook_are_named(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Orders\n"]},
        {
            "cell_type": "code",
            "source": ["pip install bamboolib\n", "%pip install delta-spark\n", "orders = spark.readStream.table('a')"],
        },
        {"cell_type": "code", "source": "%%sql\nSELECT 1"},
        {"cell_type": "code", "source": ["if True:\n", "    !ls\n", f"query = {ONCE}"]},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    [finding] = lint([tmp_path]).findings
    assert str(finding.place).startswith(f"{tmp_path}/a.ipynb, cell 4:3:")


def test_a_notebook_of_databricks_waits_for_its_queries(tmp_path: Path) -> None:
    text = ONCE.replace("once", "availableNow")
    (tmp_path / "a.py").write_text(f"# Databricks notebook source\n# MAGIC %md Orders\n\n# COMMAND ----------\n{text}")
    (tmp_path / "b.py").write_text(text)
    assert names(tmp_path / "a.py") == []
    assert names(tmp_path / "b.py") == ["query-not-awaited"]


def test_what_is_safe_is_mended_and_nothing_else_changes(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    before = f"def job():\r\n    größe = 1; return {ONCE.strip()}  # ü\r\n"
    script.write_bytes(before.encode())
    assert apply_fixes(lint([script]).findings) == 1
    assert script.read_bytes().decode() == before.replace("once=True", "availableNow=True")
    assert apply_fixes(lint([script]).findings) == 0


def test_a_mark_at_the_beginning_stays(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_bytes(b"\xef\xbb\xbf" + f"ü = lambda: {ONCE}".encode())
    assert apply_fixes(lint([script]).findings) == 1
    assert script.read_bytes() == b"\xef\xbb\xbf" + f"ü = lambda: {ONCE}".replace("once", "availableNow").encode()


def test_hostile_code_takes_no_time_and_no_stack(tmp_path: Path) -> None:
    joined = "a = spark.readStream.table('a')\n" + "a = a.join(a, 'id')\n" * 60
    (tmp_path / "a.py").write_text(joined)
    (tmp_path / "b.py").write_text("a = spark.readStream" + ".option('a', 'b')" * 1500 + ".load()\n")
    report = lint([tmp_path])
    assert {each.rule.name for each in report.findings} == {"join-without-watermark"}
    assert [each.condition for each in report.errors] in ([], ["LINT_FILE_UNREADABLE"], ["LINT_SYNTAX_ERROR"])


def test_any_code_is_looked_at_without_a_stack_trace() -> None:
    report = lint([Path(lint.__code__.co_filename).parents[2] / "runtime"])
    assert report.files > 50
    assert report.errors == ()
