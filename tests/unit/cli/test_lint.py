"""`penstock lint`, as a person and a workflow call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli_runner import penstock

pytestmark = pytest.mark.usefixtures("one_process")

CODE = """\
orders = spark.readStream.table("a")
orders.writeStream.option("checkpointLocation", "s3a://cp").trigger(once=True).toTable("b").awaitTermination()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "job.py"
    file.write_text(CODE)
    return file


def test_a_finding_says_where_why_and_what_to_do(script: Path) -> None:
    done = penstock("lint", script).expect(1)
    first, why, fix = done.stdout.splitlines()
    assert first == f"{script}:2:69: warning: [trigger-once] `trigger(once=True)`"
    assert why.startswith("  `once` takes everything")
    assert fix.startswith("  Fix: Use `trigger(availableNow=True)`")
    assert "1 file looked at: 1 finding." in done.stderr
    penstock("lint", script, "--fail-on", "error").expect(0)


def test_json_and_annotations(script: Path) -> None:
    [finding] = penstock("lint", script, "--json").expect(1).document["findings"]
    assert (finding["rule"], finding["line"], finding["fixable"]) == ("trigger-once", 2, True)
    annotation = penstock("lint", script, "--github").expect(1).stdout
    assert annotation.startswith(f"::warning file={script},line=2,col=69,title=trigger-once::`trigger(once=True)`.")


def test_sarif(script: Path) -> None:
    log = penstock("lint", script, "--sarif").expect(1).document
    [result] = log["runs"][0]["results"]
    assert (log["version"], result["ruleId"]) == ("2.1.0", "trigger-once")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 69}


def test_an_annotation_of_a_notebook_is_on_its_file_and_names_the_cell(tmp_path: Path) -> None:
    notebook = tmp_path / "my, job.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": CODE}]}))
    annotation = penstock("lint", notebook, "--github").expect(1).stdout
    path = str(notebook).replace(",", "%2C")
    assert annotation.startswith(f"::warning file={path},title=trigger-once in cell 1%2C line 2::")
    assert annotation.count("\n") == 1


def test_it_mends_what_is_safe(script: Path) -> None:
    done = penstock("lint", script, "--fix").expect(0)
    assert "Changed 1 place." in done.stderr
    assert script.read_text() == CODE.replace("once=True", "availableNow=True")


def test_a_rule_is_explained_and_a_misspelt_one_suggested(tmp_path: Path) -> None:
    said = penstock("lint", "--explain", "trigger-once").expect(0).stdout
    assert said.startswith("trigger-once (warning)\n")
    assert "trigger(once=True)" in said
    refused = penstock("lint", "--explain", "trigger-onze").expect(2)
    assert "LINT_RULE_UNKNOWN" in refused.stderr
    assert "trigger-once" in refused.stderr


def test_a_file_that_cannot_be_read_is_2(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def (:\n")
    refused = penstock("lint", tmp_path).expect(2)
    assert "LINT_SYNTAX_ERROR" in refused.stderr
    assert f"{tmp_path}/job.py:1" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_what_was_there_before_is_known_and_what_is_new_is_told(script: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    penstock("lint", script, "--write-baseline", known).expect(0)
    assert penstock("lint", script, "--baseline", known).expect(0).stdout == ""
    moved = f"# a comment\n{CODE}"
    script.write_text(moved)
    assert "1 ignored" in penstock("lint", tmp_path, "--baseline", known).expect(0).stderr
    script.write_text(moved + CODE)
    [new] = penstock("lint", script, "--baseline", known, "--json").expect(1).document["findings"]
    assert new["line"] == 5


def test_a_baseline_that_cannot_be_written_is_named(script: Path, tmp_path: Path) -> None:
    refused = penstock("lint", script, "--write-baseline", tmp_path / "nowhere" / "known.json").expect(2)
    assert "FILE_NOT_WRITABLE" in refused.stderr


def test_a_baseline_that_cannot_be_read_is_named(script: Path, tmp_path: Path) -> None:
    assert "LINT_BASELINE_UNREADABLE" in penstock("lint", script, "--baseline", tmp_path / "no.json").expect(2).stderr
    for text in ("", "[]", '{"format": 2, "findings": []}', '{"format": 1, "findings": [1]}'):
        (tmp_path / "known.json").write_text(text)
        refused = penstock("lint", script, "--baseline", tmp_path / "known.json").expect(2)
        assert "LINT_BASELINE_UNREADABLE" in refused.stderr
        assert "Traceback" not in refused.stderr
