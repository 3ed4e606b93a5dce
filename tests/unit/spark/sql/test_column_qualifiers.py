from __future__ import annotations

import re

import pytest

from penstock.spark.sql.column_qualifiers import qualify
from penstock.spark.sql.edits import EditedStatement
from penstock.spark.sql.references import Place, TableReference
from penstock.spark.sql.scanner import Words

ONE = {
    "SELECT live.orders.id, LIVE.Orders.`a b` FROM @live.orders": "SELECT orders.id, Orders.`a b` FROM @live.orders",
    "SELECT shop . orders . id FROM @c.shop.orders": "SELECT orders . id FROM @c.shop.orders",
    "SELECT c.shop.orders.*, shop.orders.x.y FROM @c.shop.orders": "SELECT orders.*, orders.x.y FROM @c.shop.orders",
    "SELECT * EXCEPT (`shop`.orders.id) FROM @shop.orders": "SELECT * EXCEPT (orders.id) FROM @shop.orders",
    "SELECT max(shop.orders.n) FROM @shop.orders GROUP BY shop.orders.id": (
        "SELECT max(orders.n) FROM @shop.orders GROUP BY orders.id"
    ),
    "SELECT 'shop.orders.id', \"shop.orders.id\" FROM @shop.orders -- shop.orders.id": None,
    "SELECT raw:shop.orders.id, x.shop.orders.id, shop.orders.f(1), orders.id FROM @shop.orders": None,
    "SELECT shop.orders.id FROM shop.orders": None,
    "SELECT other.orders.id, shop.id FROM @shop.orders": None,
    "SELECT a.orders.id, b.orders.id FROM @a.orders JOIN @b.orders": (
        "SELECT `a.orders`.id, `b.orders`.id FROM @a.orders JOIN @b.orders"
    ),
    "SELECT a.orders.id, orders.x FROM @a.orders, @b.orders": "SELECT orders.id, orders.x FROM @a.orders, @b.orders",
}


@pytest.mark.parametrize("statement", ONE)
def test_the_parts_before_the_last_of_a_table_go(statement: str) -> None:
    expected = ONE[statement] or statement
    tables: list[TableReference] = []
    for match in re.finditer(r"@((?:\w+\.)*\w+)", statement):
        start = match.start() - len(tables)
        stop = start + len(match.group(1))
        tables.append(TableReference(tuple(match.group(1).split(".")), False, Place(start, stop, stop), {}))
    text = statement.replace("@", "")
    qualifiers = qualify(Words(text), tables)
    assert EditedStatement.of(text, qualifiers.edits).text == expected.replace("@", "")


def test_tables_of_one_last_name_are_kept_apart() -> None:
    tables = [
        TableReference(("a", "orders"), False, Place(0, 8, 8), {}),
        TableReference(("b", "orders"), False, Place(9, 17, 17), {}),
        TableReference(("a", "people"), False, Place(18, 26, 26), {}),
        TableReference(("a", "named"), False, Place(27, 34, None), {}),
    ]
    aliases = qualify(Words("a.orders b.orders a.people a.named"), tables).aliases
    assert dict(aliases) == {0: "a.orders", 9: "b.orders", 18: "people"}
