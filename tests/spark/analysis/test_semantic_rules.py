"""Each semantic rule beside pipelines that keep it and pipelines that break it.

As `tests/golden/test_rules.py`, for what only the analysis of the queries shows. The `.json` of a
`bad` file lists its errors, that of an `ok` file its warnings; the `facts` that it gives are compared
too. `{"downstream": […]}` at its end names the datasets that are only counted. A file named `*_strict` is of a
pipeline with `strict: true`; without it, its errors are warnings.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.golden.test_rules import FIXTURES, STRUCTURAL, cases

from penstock.config import load_project
from penstock.errors import PenstockError
from penstock.runtime import validate

SEMANTIC = tuple(sorted({folder.name for folder in FIXTURES.iterdir()} - set(STRUCTURAL)))


@pytest.mark.parametrize("file", cases(SEMANTIC), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_semantic_rule(file: Path, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    strict = file.stem.endswith("_strict")
    (tmp_path / "penstock.yml").write_text(f"name: golden\nstrict: {str(strict).lower()}\n", encoding="utf-8")
    report = validate(load_project(tmp_path), spark=spark)
    problems = report.warnings if file.name.startswith("ok") else report.errors
    wanted = file.with_suffix(".json")
    expected = json.loads(wanted.read_text(encoding="utf-8")) if wanted.exists() else []
    downstream = expected.pop()["downstream"] if expected and "downstream" in expected[-1] else []
    assert list(report.downstream) == downstream
    assert report.valid is file.name.startswith("ok"), [str(error) for error in report.errors]
    assert [_reported(error, facts) for error, facts in zip(problems, expected, strict=True)] == expected
    for error in problems:
        assert not re.search(r"<\w+>", error.message + error.fix), "a fact is missing"
    assert not (tmp_path / ".penstock").exists(), "validate wrote something"
    if strict:
        (tmp_path / "penstock.yml").write_text("name: golden\n", encoding="utf-8")
        lenient = validate(load_project(tmp_path), spark=spark)
        assert lenient.valid
        assert [each.to_json() for each in lenient.warnings] == [each.to_json() for each in problems]


@pytest.mark.parametrize("rule", SEMANTIC)
def test_each_rule_has_both_kinds_of_cases(rule: str) -> None:
    names = [file.stem for file in cases((rule,))]
    assert any(name.startswith("ok") for name in names)
    assert any(name.startswith("bad") for name in names)


def _reported(error: PenstockError, expected: dict[str, Any]) -> dict[str, Any]:
    document = error.to_json()
    found = {key: document[key] for key in ("condition", "file", "line", "dataset")}
    if "facts" in expected:
        found["facts"] = {key: error.facts.get(key) for key in expected["facts"]}
    return found
