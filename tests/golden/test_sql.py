"""Each statement of SQL files beside files that are right and files that are wrong.

`fixtures/sql/<statement>/ok.sql` declares exactly the elements of `ok.json`; `bad.sql` has exactly the errors of
`bad.json`: what they say is wrong, where, and what they suggest. To look at a change, run
`python -m tests.golden.test_sql` and read the difference of the `.json` files.
"""

from __future__ import annotations

import json
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from penstock.declare import PipelineRegistry, load_pipeline
from penstock.declare.sql.refusals import REFUSED_CLAUSES
from penstock.errors import PenstockError, SourceLocation
from penstock.graph.elements import ColumnSelection, Expectation
from penstock.graph.identifier import Identifier
from penstock.graph.rules import check
from penstock.graph.sql_query import SqlQuery

FIXTURES = Path(__file__).parent / "fixtures" / "sql"
FILES = sorted(FIXTURES.glob("*/*.sql"))
PARAMETERS = {"name": "named"}


def loaded(file: Path) -> tuple[PipelineRegistry, list[PenstockError]]:
    """Returns what a fixture declares, and all of its errors."""
    registry = load_pipeline([file], root=file.parent, configuration=PARAMETERS)
    return registry, [*registry.errors, *check(registry.graph())]


def found(file: Path) -> list[dict[str, Any]]:
    """Returns what the `.json` file beside a fixture should say."""
    registry, errors = loaded(file)
    if file.stem == "bad":
        return [_error(error) for error in errors]
    return [_element(element) for element in (*registry.datasets, *registry.flows)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_statements(file: Path) -> None:
    _, errors = loaded(file)
    assert found(file) == json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    assert bool(errors) is (file.stem == "bad"), [str(error) for error in errors]
    for error in errors:
        assert "<" not in error.message + error.fix, "a fact is missing"


def test_or_replace_of_a_materialized_view_is_a_warning() -> None:
    registry, _ = loaded(FIXTURES / "materialized_view" / "ok.sql")
    notices = [(notice.condition, str(notice.location), notice.dataset) for notice in registry.notices]
    assert notices == [("OR_REPLACE_IS_REFRESH", "ok.sql:2:8", "default.b")]


def test_what_changes_no_row_is_passed_over_with_a_notice() -> None:
    registry, _ = loaded(FIXTURES / "refused" / "ok.sql")
    assert {notice.condition for notice in registry.notices} == {"DECLARATION_WITHOUT_EFFECT"}
    assert [(str(notice.location).removeprefix("ok.sql:"), notice.facts["name"]) for notice in registry.notices] == [
        ("3:1", "SELECT"),
        ("4:1", "WITH"),
        ("5:1", "OPTIMIZE"),
        ("6:8", "CREATE SCHEMA"),
        ("7:8", "CREATE TABLE"),
        ("8:26", "SCHEDULE"),
        ("8:81", "CLUSTER BY AUTO"),
        ("9:28", "SCHEDULE"),
        ("10:28", "TRIGGER ON UPDATE"),
    ]


@pytest.mark.parametrize("statement", ["GRANT SELECT ON a TO b", "REVOKE SELECT ON a FROM `b c`"])
def test_rights_are_refused_with_the_command_to_type(statement: str, tmp_path: Path) -> None:
    begin, rest = statement.split(" ON ")
    (tmp_path / "a.sql").write_text(f"CREATE MATERIALIZED VIEW a AS SELECT 1;\n  {begin}\n  ON {rest};\n")
    _, errors = loaded(tmp_path / "a.sql")
    [error] = errors
    assert str(error.location).endswith("a.sql:2:3")
    assert error.facts["alternative"].endswith(f"penstock sql '{statement}'")


@pytest.mark.parametrize("folder", sorted(FIXTURES.iterdir()), ids=lambda folder: folder.name)
def test_each_statement_has_both_kinds_of_cases(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} == {"ok.sql", "ok.json", "bad.sql", "bad.json"}


def test_each_refused_clause_is_in_a_fixture() -> None:
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in FIXTURES.glob("*/bad.json")]
    assert REFUSED_CLAUSES.keys() <= {error["found"] for errors in documents for error in errors}


def _error(error: PenstockError) -> dict[str, Any]:
    told = error.facts.get("expected") or error.facts.get("reason") or error.facts.get("key") or ""
    return {
        "condition": error.condition,
        "at": str(error.location).removeprefix("bad.sql:"),
        "dataset": error.dataset,
        "found": error.facts.get("found") or error.facts.get("name") or error.facts.get("clause"),
        "said": f"{told} {error.facts.get('suggestion', '')}".strip(),
    }


def _element(element: Any) -> dict[str, Any]:
    """Returns what is set of a dataset or flow."""
    values = {
        each.name: _plain(getattr(element, each.name))
        for each in fields(element)
        if getattr(element, each.name) not in (None, (), {}, False, "delta", "auto")
    }
    return {"element": type(element).__name__} | values


def _plain(value: Any) -> Any:
    match value:
        case SqlQuery():
            return {"at": str(value.text.location(0)), "text": value.text.text} | (
                {"schema": value.schema} if value.schema else {}
            )
        case Expectation():
            return f"{value.location} {value.name}: {value.constraint} -> {value.on_violation.value}"
        case ColumnSelection():
            return f"{'all but ' if value.excluded else ''}{', '.join(value.columns)}"
        case Identifier() | SourceLocation():
            return str(value)
        case Enum():
            return value.value
        case tuple():
            return [_plain(item) for item in value]
        case dict():
            return dict(value)
        case _:
            return value


if __name__ == "__main__":
    for each in FILES:
        each.with_suffix(".json").write_text(
            json.dumps(found(each), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
