"""Trees as `TreeNode.toJSON` writes them: lists of nodes, each before its children."""

from __future__ import annotations

from typing import Any

Tree = list[dict[str, Any]]

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_PLANS = "org.apache.spark.sql.catalyst.plans.logical."


def attribute(number: int, name: str) -> Tree:
    return expression("AttributeReference", name=name, exprId=_id(number))


def alias(number: int, name: str, tree: Tree) -> Tree:
    return expression("Alias", tree, name=name, exprId=_id(number))


def expression(kind: str, *children: Tree, **fields: Any) -> Tree:
    return _tree(_EXPRESSIONS + kind, children, fields)


def node(kind: str, *children: Tree, **fields: Any) -> Tree:
    return _tree(_PLANS + kind, children, fields)


def join_type(name: str) -> dict[str, str]:
    return {"object": f"org.apache.spark.sql.catalyst.plans.{name}$"}


def _id(number: int) -> dict[str, Any]:
    return {"product-class": f"{_EXPRESSIONS}ExprId", "id": number, "jvmId": "0"}


def _tree(kind: str, children: tuple[Tree, ...], fields: dict[str, Any]) -> Tree:
    return [
        {"class": kind, "num-children": len(children), **fields},
        *(each for child in children for each in child),
    ]
