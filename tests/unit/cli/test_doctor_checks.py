"""`penstock doctor` and its checklist, as a person and a workflow call it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import penstock

from penstock.care.doctor.fixing import fix_settings
from penstock.care.finding import SettingEdit

pytestmark = pytest.mark.usefixtures("one_process")

SETTINGS = """\
# The orders of the shop.
name: shop   # do not change
libraries:
  - glob: {include: "*.py"}
trigger: once
environments:
  prod: {continuous: false}   # at night
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text(SETTINGS)
    return tmp_path


def test_the_checklist_is_printed_by_group_with_its_evidence(project: Path) -> None:
    done = penstock("doctor", project).expect(0)
    lines = done.stdout.splitlines()
    groups = [line for line in lines if line[:1].isalpha()]
    assert groups == ["Reliability", "Data quality", "Performance", "Cost", "Security", "Monitoring"]
    assert any(line.split()[:2] == ["fail", "trigger-set"] for line in lines)
    assert any(line.startswith("      Fix: ") and line.endswith("(--fix does it)") for line in lines)
    assert "0 checkpoints and 0 tables looked at, event log, lock, disk and jars: nothing wrong." in done.stderr
    assert "not applicable" in done.stderr


def test_a_workflow_chooses_what_fails(project: Path) -> None:
    for level, code in (("never", 0), ("error", 3), ("warning", 3)):  # the temporary folder of the test is an error
        penstock("doctor", project, "--fail-on", level).expect(code)
    penstock("doctor", project, "--storage", "memory://lake-of-nobody", "--fail-on", "error").expect(0)


def test_json_has_each_check(project: Path) -> None:
    document = penstock("doctor", project, "--json").expect(0).document
    assert document["findings"] == []
    checks = {each["rule"]: each for each in document["checks"]}
    assert checks["trigger-set"]["status"] == "fail"
    [finding] = checks["trigger-set"]["findings"]
    assert (finding["place"], finding["fixable"]) == ("setting trigger", True)
    assert checks["storage-shared"] | {"why": "", "fix": ""} == {
        "rule": "storage-shared",
        "group": "reliability",
        "severity": "error",
        "status": "not applicable",
        "evidence": "Driver and tasks run in one process (master local[*]).",
        "measured": {},
        "why": "",
        "fix": "",
        "commands": [],
        "findings": [],
    }


def test_fix_changes_what_is_safe_keeps_comments_and_shows_the_difference(project: Path) -> None:
    done = penstock("doctor", project, "--fix").expect(0)
    assert "-trigger: once\n+trigger: available_now\n" in done.stderr
    text = (project / "penstock.yml").read_text()
    assert text.startswith("# The orders of the shop.\nname: shop   # do not change\nlibraries:\n  - glob: ")
    assert "falling_behind: 10 minutes" in text
    assert "# at night" in text
    again = penstock("doctor", project, "--fix").expect(0)
    assert "No finding has a change that is safe to make." in again.stderr
    assert (project / "penstock.yml").read_text() == text


def test_a_change_for_an_environment_is_made_in_its_section() -> None:
    fixed = fix_settings(SETTINGS, [SettingEdit(("trigger",), "available_now")], name="f", environment="prod")
    assert fixed is not None
    assert "prod: {continuous: false, trigger: available_now}" in fixed.text
    assert "\ntrigger: once\n" in fixed.text


def test_a_layout_that_would_not_stay_is_not_changed(project: Path) -> None:
    odd = 'name:   shop\ntrigger: once\nlibraries: [ {glob: {include: "*.py"}} ]\n'
    (project / "penstock.yml").write_text(odd)
    done = penstock("doctor", project, "--fix").expect(0)
    assert "Set by hand: trigger, alerts.tables.*" in done.stderr
    assert (project / "penstock.yml").read_text() == odd


def test_a_check_is_explained_without_a_project_and_a_misspelt_one_suggested() -> None:
    said = penstock("doctor", "--explain", "Keeps-Up").expect(0).stdout
    assert said.startswith("keeps-up (warning)\n")
    assert "master: local[4]" in said
    assert penstock("doctor", "--explain", "keeps-up", "--json").expect(0).document["group"] == "performance"
    refused = penstock("doctor", "--explain", "keeps-op").expect(2)
    assert "DOCTOR_RULE_UNKNOWN" in refused.stderr
    assert "keeps-up" in refused.stderr
