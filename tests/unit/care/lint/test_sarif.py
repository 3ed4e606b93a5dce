"""What `penstock lint --sarif` writes is SARIF 2.1.0, by the schema of OASIS, and says what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.sarif_schema import sarif_validator

from penstock.care.lint.baseline import without_baseline, write_baseline
from penstock.care.lint.catalogue import rules
from penstock.care.lint.linting import lint
from penstock.care.lint.sarif import report_to_sarif

JOB = """\
größe = 1; query = spark.readStream.table("ä").writeStream.trigger(once=True).toTable("b")  # penstock: ignore[CHECK]
query.awaitTermination()
"""


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Returns the one run of a log about the test's folder; a log that is not valid fails."""

    def made(*, baseline: Path | None = None) -> Any:
        report = lint([tmp_path])
        report = report if baseline is None else without_baseline(report, baseline)
        log = report_to_sarif(report, version="1.2.3", folder=tmp_path)
        assert [each.message for each in sarif_validator().iter_errors(log)] == []
        assert json.loads(json.dumps(log)) == log
        [one] = log["runs"]
        return one

    return made


def test_the_schema_rejects_what_is_no_sarif() -> None:
    assert not sarif_validator().is_valid({"version": "2.1.0", "runs": [{"results": []}]})


def test_every_rule_has_its_help(run: Any) -> None:
    driver = run()["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("penstock lint", "1.2.3")
    assert [each["id"] for each in driver["rules"]] == list(rules())
    for each in driver["rules"]:
        rule = rules()[each["id"]]
        assert rule.why in each["help"]["text"]
        assert f"```python\n{rule.good}```" in each["help"]["markdown"]
        assert each["defaultConfiguration"] == {"level": rule.severity.value}


def test_a_result_has_rule_level_place_and_the_safe_change(run: Any, tmp_path: Path) -> None:
    (tmp_path / "my jobs").mkdir()
    (tmp_path / "my jobs/a.py").write_text(JOB.replace("CHECK", "checkpoint-missing"), encoding="utf-8")
    made = run()
    [result] = [each for each in made["results"] if "suppressions" not in each]
    assert (result["ruleId"], result["level"]) == ("trigger-once", "warning")
    assert made["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "trigger-once"
    assert result["message"]["text"].startswith("`trigger(once=True)`. ")
    column = JOB.index("once=True") + 1
    [place] = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20jobs/a.py"},
        "region": {"startLine": 1, "startColumn": column},
    }
    [change] = result["fixes"][0]["artifactChanges"]
    [replacement] = change["replacements"]
    assert replacement["insertedContent"]["text"] == "availableNow=True"
    assert replacement["deletedRegion"] == {
        "startLine": 1,
        "startColumn": column,
        "endLine": 1,
        "endColumn": column + len("once=True"),
    }


def test_what_is_ignored_is_there_with_its_suppression(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(JOB.replace("CHECK", "checkpoint-missing"), encoding="utf-8")
    write_baseline(lint([tmp_path]), tmp_path / "known.json")
    results = run(baseline=tmp_path / "known.json")["results"]
    kinds = {each["ruleId"]: each["suppressions"] for each in results}
    assert kinds == {"checkpoint-missing": [{"kind": "inSource"}], "trigger-once": [{"kind": "external"}]}


def test_a_finding_in_a_notebook_names_its_cell_and_not_a_line_of_json(run: Any, tmp_path: Path) -> None:
    cells = [{"cell_type": "markdown", "source": "# a"}, {"cell_type": "code", "source": JOB}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    result = next(each for each in run()["results"] if each["ruleId"] == "trigger-once")
    [place] = result["locations"]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "a.ipynb"}}
    assert place["logicalLocations"] == [{"fullyQualifiedName": "cell 2, line 1"}]
    assert "fixes" not in result


def test_a_file_that_cannot_be_read_is_a_notification(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def (:\n")
    (tmp_path / "b.py").write_bytes(b"\xff\xfe")
    [invocation] = run()["invocations"]
    assert invocation["executionSuccessful"] is False
    first, second = invocation["toolExecutionNotifications"]
    assert first["descriptor"]["id"] == "LINT_SYNTAX_ERROR"
    assert first["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert second["descriptor"]["id"] == "LINT_FILE_UNREADABLE"
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b.py"
