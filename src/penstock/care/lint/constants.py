"""What an expression of a script is, as far as its text tells: a value, or a text with gaps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.care.lint.tree import walk

GAP: Final = "\0"
"""Stands in a text for a part that only the run knows."""

BINDING: Final = (
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With, ast.NamedExpr),
    *(ast.arg, ast.comprehension),
)
"""Nodes that give names a value."""

_UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class Constants:
    """The names that a script gives one value only, and never changes."""

    values: Mapping[str, ast.expr]

    def of(self, node: ast.expr | None) -> Any:
        """Returns a literal's value, also by a name or an addition of texts; None for what is not known."""
        found = self._value(node, set())
        return None if found is _UNKNOWN else found

    def text(self, node: ast.expr | None) -> str | None:
        """Returns a text, whose unknown parts are `GAP`; None for what is no text or wholly unknown."""
        found = self._text(node, set())
        return None if found is None or not found.replace(GAP, "") else found

    def texts(self, nodes: Iterable[ast.expr]) -> list[str]:
        """Returns the known texts of several arguments, those of lists and tuples among them, too."""
        found = []
        for node in nodes:
            each = self.named(node)
            if isinstance(each, ast.List | ast.Tuple):
                found += self.texts(each.elts)
            elif (text := self.text(each)) is not None and GAP not in text:
                found.append(text)
        return found

    def named(self, node: ast.expr) -> ast.expr:
        """Returns what a name stands for, if it stands for one expression only; else the node itself."""
        return self.values.get(node.id, node) if isinstance(node, ast.Name) else node

    def _value(self, node: ast.expr | None, seen: set[str]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self.values and name not in seen:
                return self._value(self.values[name], {*seen, name})
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self._value(operand, seen)
                return -value if isinstance(value, int | float) else _UNKNOWN
        text = self._text(node, seen)
        return _UNKNOWN if text is None or GAP in text else text

    def _text(self, node: ast.expr | None, seen: set[str]) -> str | None:
        match node:
            case ast.Constant(value=str(value)):
                return value
            case ast.Name(id=name) if name in self.values and name not in seen:
                return self._text(self.values[name], {*seen, name})
            case ast.JoinedStr(values=parts):
                return "".join(self._text(part, seen) or GAP for part in parts)
            case ast.FormattedValue(value=value):
                return self._text(value, seen)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                both = [self._text(each, seen) for each in (left, right)]
                return None if both == [None, None] else "".join(each or GAP for each in both)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(form)), attr="format")):
                return re.sub(r"\{[^{}]*\}", GAP, form)
        return None


def constants_of(nodes: Iterable[ast.AST]) -> Constants:
    """Returns the names that are assigned once in all of a script, at any depth, by a plain `name = value`.

    `nodes` are those of the script that are `BINDING`.
    """
    values: dict[str, ast.expr] = {}
    changed: set[str] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in values:
                values[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name not in values:
                values[name] = value
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With() | ast.NamedExpr():
                changed.update(_targets(node))
            case ast.arg(arg=name):
                changed.add(name)
            case ast.comprehension(target=target):
                changed.update(each.id for each in walk(target) if isinstance(each, ast.Name))
    return Constants({name: value for name, value in values.items() if name not in changed})


def _targets(node: ast.AST) -> set[str]:
    targets: list[ast.expr | None] = [*getattr(node, "targets", []), getattr(node, "target", None)]
    targets += [item.optional_vars for item in getattr(node, "items", [])]
    return {each.id for target in targets if target is not None for each in walk(target) if isinstance(each, ast.Name)}
