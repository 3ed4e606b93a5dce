"""Only `penstock.storage.delta.table` opens a Delta table without Spark: it alone knows how each store is reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.repo.documents import ROOT

SOURCES = ROOT / "src/penstock"


def opens(file: Path) -> Iterator[int]:
    """Yields the lines in which a module calls delta-rs' class of tables, or asks it whether there is one."""
    text = file.read_text(encoding="utf-8")
    if "deltalake" not in text and "is_deltatable" not in text:  # to parse all modules would take seconds
        return
    tree = ast.parse(text)
    imported = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.module == "deltalake"]
    names = {name.asname or name.name for each in imported for name in each.names if name.name == "DeltaTable"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node.lineno
        if isinstance(node, ast.Attribute) and node.attr == "is_deltatable":
            yield node.lineno


def test_tables_are_opened_in_one_place() -> None:
    found = {str(file.relative_to(SOURCES)): list(opens(file)) for file in SOURCES.rglob("*.py")}
    assert {name for name, lines in found.items() if lines} == {"storage/delta/table.py"}
