"""Finds in the source every place that builds an error of the catalogue."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import penstock
from penstock import errors

SOURCE = Path(penstock.__file__).parent
JAVA = Path(__file__).parents[3] / "java"
ERROR_CLASSES = {
    name
    for name in errors.__all__
    if isinstance(kind := getattr(errors, name), type) and issubclass(kind, errors.PenstockError)
}
NOT_FACTS = {"location", "dataset"}


@dataclass(frozen=True)
class Raised:
    """One call such as `ConfigError("NAME", fact=…)`; `open_ended` when it also passes `**facts`."""

    condition: str
    facts: frozenset[str]
    open_ended: bool
    place: str


def find_raised() -> Iterator[Raised]:
    for path, tree in _trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or _name(node.func) not in ERROR_CLASSES or not node.args:
                continue
            for condition in _literals(node.args[0]):
                yield Raised(
                    condition=condition,
                    facts=frozenset(keyword.arg for keyword in node.keywords if keyword.arg) - NOT_FACTS,
                    open_ended=any(keyword.arg is None for keyword in node.keywords),
                    place=f"{path.relative_to(SOURCE.parent)}:{node.lineno}",
                )


def find_texts() -> set[str]:
    """Returns every string in the source: a condition may be named in a table, or by a Java class, too."""
    java = (path.read_text(encoding="utf-8") for path in JAVA.rglob("*.java"))
    return {text for source in java for text in re.findall(r'"([A-Z_]+)"', source)} | {
        node.value
        for _, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if "templates" not in path.parts:
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _literals(argument: ast.expr) -> Iterator[str]:
    """Yields the condition, or both of `"A" if … else "B"`."""
    match argument:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from _literals(body)
            yield from _literals(other)
