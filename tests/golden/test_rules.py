"""Each rule beside pipelines that keep it and pipelines that break it.

`fixtures/rules/<rule>/ok*.py` and `ok*.sql` have no error; `bad*.py` and `bad*.sql` have exactly the errors of the
`.json` file of the same name: a list of `{condition, file, line, dataset}` in the order of their report. To add a
case, add a file. A folder named like no structural rule belongs to a semantic rule, which needs
analysis and therefore Spark.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from pathlib import Path

import pytest

from penstock.declare import load_pipeline
from penstock.errors import PenstockError
from penstock.graph import rules
from penstock.graph.rules import RULES, check

FIXTURES = Path(__file__).parent / "fixtures" / "rules"
STRUCTURAL = tuple(rule.__name__ for rule in RULES)


def cases(rules: tuple[str, ...]) -> list[Path]:
    """Returns the pipeline files of the given rules."""
    files = (file for rule in rules for file in sorted((FIXTURES / rule).iterdir()))
    return [file for file in files if file.suffix in {".py", ".sql"}]


def expected_errors(file: Path) -> list[dict[str, object]]:
    """Returns what the case expects; nothing for `ok` files."""
    if file.name.startswith("ok"):
        return []
    found: list[dict[str, object]] = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def reported(errors: list[PenstockError]) -> list[dict[str, object]]:
    """Returns errors in the form of the expectation files."""
    documents = [error.to_json() for error in errors]
    return [{key: document[key] for key in ("condition", "file", "line", "dataset")} for document in documents]


@pytest.mark.parametrize("file", cases(STRUCTURAL), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_structural_rule(file: Path) -> None:
    registry = load_pipeline([file], root=file.parent)
    errors = [*registry.errors, *check(registry.graph())]
    assert reported(errors) == expected_errors(file)
    for error in errors:
        assert "<" not in error.message + error.fix, "a fact is missing"


@pytest.mark.parametrize("rule", STRUCTURAL)
def test_each_rule_has_both_kinds_of_cases(rule: str) -> None:
    names = [file.stem for file in cases((rule,))]
    assert any(name.startswith("ok") for name in names)
    assert any(name.startswith("bad") for name in names)


def test_each_rule_that_is_written_is_applied() -> None:
    files = [
        importlib.import_module(module.name) for module in pkgutil.iter_modules(rules.__path__, "penstock.graph.rules.")
    ]
    written = {
        function
        for file in files
        for name, function in inspect.getmembers(file, inspect.isfunction)
        if function.__module__ == file.__name__
        and not name.startswith("_")
        and list(inspect.signature(function).parameters) == ["graph"]
    }
    assert written == set(RULES)
    assert len(set(STRUCTURAL)) == len(RULES), "a rule's name is its folder of cases"
