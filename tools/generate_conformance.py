"""Writes docs/reference/conformance.md from tests/conformance.toml: python tools/generate_conformance.py.

The data lies beside the tests that it names; tests/repo/test_conformance.py checks that they exist, that
no name or parameter of the three spellings is missing, and that the page is current.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "tests/conformance.toml"
TARGET = ROOT / "docs/reference/conformance.md"
SLOW = "pytest.mark.slow"

HEAD = """\
# Conformance

What of Delta Live Tables, Lakeflow Declarative Pipelines and `pyspark.pipelines` Penstock accepts, with the test
that shows what it does, and what it refuses. What has no effect is said to have none; what is refused is refused by
name, with its place and an alternative ([Errors](../errors.md)).

A test that is marked (slow) runs with `make test FULL=1` only, the others in every run of CI.

This page is made from `tests/conformance.toml` by `python tools/generate_conformance.py`.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One name, statement, clause or parameter.

    `test` is `path below tests::function`. `no_effect` says why an accepted name changes nothing. `condition` stands
    for a refusal, because of `reason`.
    """

    name: str
    test: str
    no_effect: str = ""
    condition: str = ""
    reason: str = ""


def sections() -> dict[str, list[Row]]:
    """Returns the rows of the source by section, in its order."""
    document = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    return {title: [_row(name, value) for name, value in rows.items()] for title, rows in document.items()}


def _row(name: str, value: str | dict[str, Any]) -> Row:
    return Row(name, value) if isinstance(value, str) else Row(name, **value)


def render_page() -> str:
    """Returns the page."""
    parts = [HEAD]
    for title, rows in sections().items():
        parts.append(f"## {title}\n\n| name | accepted | semantics tested | refused |\n|---|---|---|---|")
        parts.extend(_line(row) for row in rows)
        parts.append("")
    return "\n".join(parts)


def _line(row: Row) -> str:
    file, _, function = row.test.partition("::")
    test = f"[{function}](../../tests/{file})" + (" (slow)" if function in slow_tests(file) else "")
    name = "`" + row.name.replace("|", "\\|") + "`" if "`" not in row.name else row.name
    if row.condition:
        return f"| {name} | no | its refusal: {test} | {row.reason} (`{row.condition}`) |"
    return f"| {name} | {'without effect: ' + row.no_effect if row.no_effect else 'yes'} | {test} | no |"


@cache
def slow_tests(file: str) -> frozenset[str]:
    """Returns the functions of a file of tests that are marked as slow, by themselves or with all of the file."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    marks = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
    if any(mark.startswith("pytestmark") and SLOW in mark for mark in marks):
        return frozenset(each.name for each in functions)
    return frozenset(each.name for each in functions if SLOW in map(ast.unparse, each.decorator_list))


def main() -> None:
    TARGET.write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
