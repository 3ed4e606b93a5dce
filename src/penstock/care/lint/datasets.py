"""The dataset functions of a pipeline file: those that a decorator of `dlt` or `pyspark.pipelines` declares."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_MODULES: Final = {"dlt", "penstock", "pyspark.pipelines"}
_DATASETS: Final = {
    "table",
    "view",
    "materialized_view",
    "temporary_view",
    "create_table",
    "create_view",
    "append_flow",
}


def dataset_functions(nodes: Sequence[ast.AST]) -> Iterator[ast.FunctionDef]:
    """Yields the functions that are a dataset's or a flow's query."""
    modules, names = _imported(nodes)
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and any(_declares(each, modules, names) for each in node.decorator_list):
            yield node


def _imported(nodes: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """Returns the names under which the declaring modules are imported, and those imported from them."""
    modules, names = set[str](), set[str]()
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                modules |= {alias.asname or alias.name for alias in aliases if alias.name in _MODULES}
            case ast.ImportFrom(module="pyspark", names=aliases):
                modules |= {alias.asname or alias.name for alias in aliases if alias.name == "pipelines"}
            case ast.ImportFrom(module=str(module), names=aliases) if module in _MODULES:
                names |= {alias.asname or alias.name for alias in aliases}
    return modules, names


def decorator_name(node: ast.expr) -> str | None:
    """Returns `expect_or_drop` of `@dlt.expect_or_drop(…)`."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return None


def _declares(decorator: ast.expr, modules: set[str], names: set[str]) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    match function:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return module in modules and name in _DATASETS
        case ast.Name(id=name):
            return name in names and name in _DATASETS
    return False
