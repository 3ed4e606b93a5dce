"""What `penstock doctor --sarif` writes is SARIF 2.1.0, by the schema of OASIS, and says what the checklist does."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import penstock
from tests.sarif_schema import sarif_validator

from penstock.care.doctor.catalogue import rules
from penstock.care.doctor.checklist import CheckResult, Status
from penstock.care.doctor.examination import Examination
from penstock.care.doctor.rules import found
from penstock.care.doctor.sarif import examination_to_sarif
from penstock.care.finding import Finding, Subject
from penstock.errors import DefinitionError, PenstockError, SourceLocation, StateError

pytestmark = pytest.mark.usefixtures("one_process")


@pytest.fixture
def locations(tmp_path: Path) -> Any:
    """Returns the locations of findings, in a log that is valid."""

    def made(*findings: Finding) -> list[Any]:
        checks = [CheckResult(each.rule, Status.FAIL, each.evidence, {}, (each,)) for each in findings]
        examination = Examination(datetime(2026, 11, 26, tzinfo=UTC), (), (), (), False, tuple(checks))
        file = tmp_path / "shop/penstock.yml"
        log = examination_to_sarif(examination, version="1.2.3", folder=tmp_path, pipeline_file=file)
        assert [each.message for each in sarif_validator().iter_errors(log)] == []
        [run] = log["runs"]
        assert [each["ruleId"] for each in run["results"]] == [each.rule.name for each in findings]
        return [location for each in run["results"] for location in each["locations"]]

    return made


def _logical(location: Any) -> tuple[str, str]:
    """What a location is, by its kind and name: that of nothing in a file is in the pipeline file, without a line."""
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "shop/penstock.yml"}}
    [logical] = location["logicalLocations"]
    return logical["kind"], logical["fullyQualifiedName"]


def test_a_table_a_flow_a_setting_and_the_machine_are_logical_locations(locations: Any) -> None:
    kinds = (("table", "shop.orders"), ("flow", "orders"), ("setting", "trigger"), ("machine", ""))
    made = locations(*(Finding(rules()["small-files"], Subject(*each), "480 of 512 files are small") for each in kinds))
    assert [_logical(each) for each in made] == [*kinds[:3], ("machine", "machine")]


@pytest.mark.parametrize(
    ("rule", "error", "where", "expected"),
    [
        (
            "checkpoints-sound",
            StateError("CHECKPOINT_LOST"),
            "s3://lake/checkpoints/a",
            ("checkpoint", "s3://lake/checkpoints/a"),
        ),
        ("tables-readable", StateError("TABLE_NOT_READABLE", dataset="shop.a"), "s3://lake/a", ("table", "shop.a")),
        ("lock-held", StateError("STORAGE_LOCK_LEFT"), "/srv/shop/lock", ("lock", "/srv/shop/lock")),
        ("disk-space", StateError("DISK_SPACE_LOW"), "/srv/shop", ("storage", "/srv/shop")),
        (
            "event-log-readable",
            StateError("EVENT_LOG_LINES_SKIPPED"),
            "events/1.jsonl:7",
            ("event log", "events/1.jsonl:7"),
        ),
    ],
)
def test_a_place_in_the_storage_is_a_logical_location(
    locations: Any, rule: str, error: PenstockError, where: str, expected: tuple[str, str]
) -> None:
    [location] = locations(found(rule, error, where=where))
    assert _logical(location) == expected


def test_a_declaration_is_a_line_of_its_file_which_is_named_from_the_pipeline(locations: Any) -> None:
    error = DefinitionError(
        "STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND", location=SourceLocation("code/orders.py", 3), dataset="shop.orders"
    )
    [location] = locations(found("state-bounded", error))
    assert location == {
        "physicalLocation": {
            "artifactLocation": {"uri": "shop/code/orders.py"},
            "region": {"startLine": 3},
        }
    }


def test_the_command_prints_every_check_that_failed_and_all_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "penstock.yml").write_text("name: shop\ntrigger: once\nlibraries:\n  - glob: {include: '*.py'}\n")
    monkeypatch.chdir(tmp_path)
    log = penstock("doctor", "--sarif", "--fail-on", "error").expect(3).document
    assert sarif_validator().is_valid(log)
    assert json.loads(json.dumps(log)) == log
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "penstock doctor"
    assert [each["id"] for each in driver["rules"]] == list(rules())
    listed = penstock("doctor", "--json").expect(0).document["checks"]
    failed = [(each["rule"], finding["severity"]) for each in listed for finding in each["findings"]]
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == failed
    [trigger] = [each for each in run["results"] if each["ruleId"] == "trigger-set"]
    assert trigger["message"]["text"].startswith("trigger once takes everything as one batch. ")
    assert trigger["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "penstock.yml"}
