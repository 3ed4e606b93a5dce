"""Writes docs/reference/conformance.md from tests/conformance.toml: python tools/generate_conformance.py.

The data lies beside the tests that it names; tests/repo/test_conformance.py checks that they exist, that
no name or parameter of the three spellings is missing, and that the page is current.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "tests/conformance.toml"
TARGET = ROOT / "docs/reference/conformance.md"

HEAD = """\
# Conformance

What of Delta Live Tables, Lakeflow Declarative Pipelines and `pyspark.pipelines` Penstock accepts, with the test
that shows what it does, and what it refuses. What has no effect is said to have none; what is refused is refused by
name, with its place and an alternative ([Errors](../errors.md)).

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
    test = f"[{function}](../../tests/{file})"
    name = "`" + row.name.replace("|", "\\|") + "`" if "`" not in row.name else row.name
    if row.condition:
        return f"| {name} | no | its refusal: {test} | {row.reason} (`{row.condition}`) |"
    return f"| {name} | {'without effect: ' + row.no_effect if row.no_effect else 'yes'} | {test} | no |"


def main() -> None:
    TARGET.write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
