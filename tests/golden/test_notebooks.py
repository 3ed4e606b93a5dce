"""Notebooks beside what they declare.

`fixtures/notebooks/<case>/expected.json` names the libraries of the case, and what loading them gives:
datasets, errors and notices in their order, each with its place. To add a case, add a folder.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.declare import load_pipeline

FIXTURES = Path(__file__).parent / "fixtures" / "notebooks"


@pytest.mark.parametrize("case", sorted(FIXTURES.iterdir()), ids=lambda case: case.name)
def test_notebook(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    registry = load_pipeline([case / name for name in expected.pop("libraries")], root=case)
    assert {
        "datasets": [f"{dataset.identifier.name} {dataset.location}" for dataset in registry.datasets],
        "errors": [f"{error.condition} {error.location}" for error in registry.errors],
        "notices": [f"{notice.condition} {notice.location}" for notice in registry.notices],
    } == expected
    for error in (*registry.errors, *registry.notices):
        assert "<" not in error.message + error.fix, "a fact is missing"
    named = {"UNKNOWN_PARAMETER", "PARSE_SYNTAX_ERROR", "SQL_CONF_NOT_FOUND"}  # of a declaration whose name is known
    assert registry.incomplete == any(error.condition not in named for error in registry.errors)
