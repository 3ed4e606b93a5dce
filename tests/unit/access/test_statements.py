"""GRANT, REVOKE and SHOW GRANTS, as people write them for Databricks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.grants import Securable, principal_sql
from penstock.access.statements import ChangeGrant, ShowGrants, parse_statement
from penstock.errors import DefinitionError
from penstock.graph.identifier import DefaultSchema

SCHEMA = DefaultSchema("shop", "main")
ORDERS = Securable(None, "shop", "orders")


def parsed(text: str) -> ChangeGrant | ShowGrants | None:
    return parse_statement(text, default_schema=SCHEMA)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("GRANT SELECT ON TABLE orders TO analysts", ChangeGrant(True, True, (), ORDERS, "analysts")),
        ("grant select on orders to `ada@example.com`;", ChangeGrant(True, True, (), ORDERS, "ada@example.com")),
        ("GRANT SELECT ON VIEW Main.Shop.Orders TO x", ChangeGrant(True, True, (), ORDERS, "x")),
        ("GRANT SELECT ON MATERIALIZED VIEW shop.orders TO x", ChangeGrant(True, True, (), ORDERS, "x")),
        ("GRANT ALL PRIVILEGES ON SCHEMA shop TO x", ChangeGrant(True, True, (), Securable(None, "shop"), "x")),
        ("GRANT SELECT ON DATABASE main.shop TO x", ChangeGrant(True, True, (), Securable(None, "shop"), "x")),
        ("GRANT SELECT ON SCHEMA other.shop TO x", ChangeGrant(True, True, (), Securable("other", "shop"), "x")),
        ("GRANT SELECT ON CATALOG main TO x", ChangeGrant(True, True, (), Securable(None), "x")),
        ("GRANT SELECT ON CATALOG other TO x", ChangeGrant(True, True, (), Securable("other"), "x")),
        (
            "GRANT USE SCHEMA ON SCHEMA shop TO x",
            ChangeGrant(True, False, ("USE SCHEMA",), Securable(None, "shop"), "x"),
        ),
        (
            "GRANT USE SCHEMA, SELECT ON SCHEMA shop TO x",
            ChangeGrant(True, True, ("USE SCHEMA",), Securable(None, "shop"), "x"),
        ),
        ("REVOKE SELECT ON TABLE other.s.t FROM x", ChangeGrant(False, True, (), Securable("other", "s", "t"), "x")),
        ("GRANT SELECT ON table TO x", ChangeGrant(True, True, (), Securable(None, "shop", "table"), "x")),
        ("REVOKE SELECT ON schema.t FROM x", ChangeGrant(False, True, (), Securable(None, "schema", "t"), "x")),
        ("SHOW GRANTS", ShowGrants(None, None)),
        ("-- who?\nSHOW GRANTS ON TABLE orders", ShowGrants(None, ORDERS)),
        ("SHOW GRANTS analysts ON SCHEMA shop", ShowGrants("analysts", Securable(None, "shop"))),
        ("SHOW GRANTS `a b`", ShowGrants("a b", None)),
        ("SELECT 'GRANT'", None),
        ("", None),
        ("SHOW TABLES", None),
    ],
)
def test_a_statement_is_read(statement: str, expected: ChangeGrant | ShowGrants | None) -> None:
    assert parsed(statement) == expected


def test_without_a_catalog_of_its_own_the_pipeline_has_sparks() -> None:
    found = parse_statement("GRANT SELECT ON CATALOG spark_catalog TO x", default_schema="shop")
    assert isinstance(found, ChangeGrant)
    assert found.securable == Securable(None)


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("GRANT", "PARSE_SYNTAX_ERROR"),
        ("GRANT SELECT", "PARSE_SYNTAX_ERROR"),
        ("GRANT SELCT ON TABLE orders TO x", "PARSE_SYNTAX_ERROR"),
        ("GRANT SELECT ON TABLE orders", "PARSE_SYNTAX_ERROR"),
        ("GRANT SELECT ON TABLE orders FROM x", "PARSE_SYNTAX_ERROR"),
        ("GRANT SELECT ON TABLE orders TO x WITH GRANT OPTION", "PARSE_SYNTAX_ERROR"),
        ("GRANT SELECT ON TABLE orders TO ada@example.com", "PARSE_SYNTAX_ERROR"),
        ("GRANT SELECT ON TABLE orders TO a.b", "PARSE_SYNTAX_ERROR"),
        ("REVOKE SELECT ON TABLE orders TO x", "PARSE_SYNTAX_ERROR"),
        ("GRANT MODIFY ON TABLE orders TO x", "PRIVILEGE_UNSUPPORTED"),
        ("GRANT SELECT, MANAGE ON TABLE orders TO x", "PRIVILEGE_UNSUPPORTED"),
        ("GRANT SELECT ON SCHEMA a.b.c TO x", "INVALID_DATASET_NAME"),
        ("GRANT SELECT ON TABLE a.b.c.d TO x", "INVALID_DATASET_NAME"),
        ("SHOW GRANTS ON", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(statement: str, condition: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parsed(statement)
    assert refused.value.condition == condition


_NAME = st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text)


@given(_NAME)
def test_any_name_can_be_quoted(name: str) -> None:
    found = parsed(f"GRANT SELECT ON TABLE orders TO `{name.replace('`', '``')}`")
    assert isinstance(found, ChangeGrant)
    assert found.principal == name
    again = parsed(f"REVOKE SELECT ON TABLE orders FROM {principal_sql(name)}")
    assert isinstance(again, ChangeGrant)
    assert again.principal == name
