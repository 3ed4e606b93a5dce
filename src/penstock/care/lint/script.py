"""A file of code to look at: its text, its tree, and the streaming queries in it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from penstock.care.finding import Edit
from penstock.care.lint.constants import BINDING, Constants, constants_of
from penstock.care.lint.datasets import dataset_functions
from penstock.care.lint.finding import Found
from penstock.care.lint.frames import Frames
from penstock.care.lint.queries import Query, queries_of
from penstock.care.lint.tree import walk_with_parents
from penstock.graph.sql.placed_text import PlacedText


@dataclass
class Script:
    """One file.

    Attributes:
        path: as it was given.
        lines: its text; of a notebook the cells one below the other, magics left blank.
        tree: its syntax; of a SQL file that of an empty script.
        notebook: whether a notebook runs it, where nobody waits for a query by hand.
        places: of a notebook in JSON, cell and line of each line.
        sql: the text of a SQL file, and of a notebook's SQL cells, with their places in `lines`.
    """

    path: str
    lines: list[str]
    tree: ast.Module
    notebook: bool = False
    places: list[tuple[int, int]] | None = None
    sql: list[PlacedText] = field(default_factory=list)

    @cached_property
    def constants(self) -> Constants:
        """Its names with one value."""
        return constants_of(self.nodes(*BINDING))

    @cached_property
    def frames(self) -> Frames:
        """Its DataFrames."""
        return Frames.of(self.tree, self.nodes(ast.FunctionDef, ast.Call))

    @cached_property
    def queries(self) -> list[Query]:
        """The streaming queries that it starts."""
        return queries_of(self.frames.writes, self.constants)

    def nodes(self, *kinds: type[ast.AST]) -> list[ast.AST]:
        """Returns the nodes of its syntax of these types: the tree is walked once, for all rules."""
        return [node for kind in kinds for node in self._by_kind.get(kind, ())]

    @cached_property
    def _walked(self) -> tuple[list[ast.AST], dict[ast.AST, ast.AST]]:
        return walk_with_parents(self.tree)

    @cached_property
    def _by_kind(self) -> dict[type[ast.AST], list[ast.AST]]:
        found: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in self._walked[0]:
            found[type(node)].append(node)
        return found

    @cached_property
    def _called(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = defaultdict(list)
        for node in self.nodes(ast.Call):
            match node:
                case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
                    found[name].append(node)
        return found

    def calls(self, *names: str) -> list[ast.Call]:
        """Returns the calls of methods or functions of these names, wherever they are."""
        return [call for name in names for call in self._called.get(name, ())]

    def found(self, node: ast.expr | ast.keyword | ast.stmt, evidence: str, edit: Edit | None = None) -> Found:
        """Makes what a rule yields, at a node; of a call in a chain, at the name of its method."""
        match node:
            case ast.Call(func=ast.Attribute(end_lineno=int(line), end_col_offset=int(end), attr=name)):
                return Found(line, end - len(name) + 1, evidence, edit)
        return Found(node.lineno, node.col_offset + 1, evidence, edit)

    def line(self, node: ast.expr) -> str:
        """Returns the line of a node, of a notebook with its cell, as a person finds it."""
        if self.places is None:
            return str(node.lineno)
        cell, line = self.places[node.lineno - 1]
        return f"{line} of cell {cell}"

    @cached_property
    def datasets(self) -> list[ast.FunctionDef]:
        """The functions that declare a table, a view or a flow of a pipeline."""
        return list(dataset_functions(self.nodes(ast.Import, ast.ImportFrom, ast.FunctionDef)))

    def in_dataset(self, node: ast.AST) -> bool:
        """Whether a node stands in a dataset function, whose query Penstock or DLT starts and gives a checkpoint."""
        return any(outer in self.datasets for outer, _ in self.around(node))

    @property
    def master(self) -> str | None:
        """The master that the script sets."""
        for call in self.calls("master"):
            if call.args and (text := self.constants.text(call.args[0])) is not None:
                return text
        return self.constants.text(self.conf("spark.master"))

    @property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node stands in."""
        return self._walked[1]

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yields what a node stands in, from the inside out, each with the part of it in which it stands."""
        inner = node
        while (outer := self.parents.get(inner)) is not None:
            yield outer, inner
            inner = outer

    def exclusive(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether at most one of two nodes is run: they stand in different branches, or in functions."""
        if self.function(one) is not self.function(other):
            return True
        branches = {id(outer): _branch(outer, inner) for outer, inner in self.around(one)}
        return any(
            branches.get(id(outer), branch) != branch
            for outer, inner in self.around(other)
            if (branch := _branch(outer, inner))
        )

    def function(self, node: ast.AST) -> ast.FunctionDef | None:
        """Returns the innermost function around a node."""
        return next((outer for outer, _ in self.around(node) if isinstance(outer, ast.FunctionDef)), None)

    def is_run(self, node: ast.AST) -> bool:
        """Whether running the script runs a node: it is not in a function, or the script calls its own functions."""
        if any(isinstance(outer, ast.Return) for outer, _ in self.around(node)):
            return False
        return self.function(node) is None or "__main__" in "\n".join(self.lines)

    def conf(self, name: str) -> ast.expr | None:
        """Returns the value that the script sets for a Spark setting, by `conf.set` or `config`; None for none."""
        for call in self.calls("set", "config"):
            match call.args:
                case [key, value, *_] if self.constants.of(key) == name:
                    return value
        return None


def _branch(outer: ast.AST, inner: ast.AST) -> str:
    """Returns which part of an `if` or `match` a statement is in; empty for all that is run anyway."""
    if isinstance(outer, ast.If):
        return "then" if inner in outer.body else "else"
    return str(id(inner)) if isinstance(outer, ast.Match) else ""
