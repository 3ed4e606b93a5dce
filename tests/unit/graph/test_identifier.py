from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DefinitionError
from penstock.graph.identifier import DefaultSchema, Identifier, split_name

PLAIN = st.text(st.characters(exclude_characters=".`"), min_size=1).filter(lambda part: part.strip() == part)
ANY_PART = st.text(min_size=1)


def quoted(part: str) -> str:
    return "`" + part.replace("`", "``") + "`"


@pytest.mark.parametrize(
    ("text", "schema", "name"),
    [
        ("orders", "shop", "orders"),
        ("bronze.orders", "bronze", "orders"),
        ("main.bronze.orders", "bronze", "orders"),
        ("LIVE.orders", "shop", "orders"),
        ("live.Orders", "shop", "Orders"),
        ("main.live.orders", "live", "orders"),
        ("`daily orders`", "shop", "daily orders"),
        ("bronze.`a.b`", "bronze", "a.b"),
        ("`a``b`.c", "a`b", "c"),
        (" bronze . orders ", "bronze", "orders"),
    ],
)
def test_parse(text: str, schema: str, name: str) -> None:
    parsed = Identifier.parse(text, default_schema="shop")
    assert (parsed.schema, parsed.name) == (schema, name)


@pytest.mark.parametrize("text", ["", " ", ".", "a.", ".a", "a..b", "a.b.c.d", "`a", "a`b", "`a`b", "``", "a. .b"])
def test_refused_names(text: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        Identifier.parse(text, default_schema="shop")
    assert raised.value.condition == "INVALID_DATASET_NAME"
    assert raised.value.facts == {"name": text}


@given(st.lists(ANY_PART, min_size=1, max_size=3))
def test_quoting_keeps_any_part(parts: list[str]) -> None:
    assert split_name(".".join(quoted(part) for part in parts)) == parts


@given(st.lists(PLAIN, min_size=1, max_size=3))
def test_plain_parts_need_no_quotes(parts: list[str]) -> None:
    assert split_name(".".join(parts)) == parts


@given(st.text())
def test_any_text_is_split_or_refused(text: str) -> None:
    try:
        assert all(split_name(text))
    except DefinitionError as error:
        assert error.facts == {"name": text}  # noqa: PT017 - both outcomes are right


@given(ANY_PART, ANY_PART)
def test_equality_ignores_case(schema: str, name: str) -> None:
    one = Identifier(schema, name)
    other = Identifier(schema.casefold(), name.casefold())
    assert one == other
    assert hash(one) == hash(other)
    assert not one < other
    assert {one: 1}[other] == 1


def test_spelling_is_kept_and_other_types_are_unequal() -> None:
    assert str(Identifier("Shop", "Orders")) == "Shop.Orders"
    assert Identifier("shop", "orders") != "shop.orders"
    assert Identifier("shop", "orders") != Identifier("shop", "order")


@pytest.mark.parametrize(
    ("text", "catalog"),
    [
        ("main.shop.orders", None),
        ("`MAIN`.shop.orders", None),
        ("shop.orders", None),
        ("raw.shop.orders", "raw"),
        ("`raw data`.shop.orders", "raw data"),
        ("hive_metastore.shop.orders", "hive_metastore"),
    ],
)
def test_only_the_pipelines_own_catalog_is_left_out(text: str, catalog: str | None) -> None:
    parsed = Identifier.parse(text, default_schema=DefaultSchema("shop", "main"))
    assert parsed.catalog == catalog
    assert Identifier.parse(parsed.sql, default_schema=DefaultSchema("shop", "main")) == parsed


def test_names_of_two_catalogs_are_unequal() -> None:
    own, raw, upper = (
        Identifier("sales", "orders"),
        Identifier("sales", "orders", "raw"),
        Identifier("SALES", "O", "RAW"),
    )
    assert own != raw
    assert len({own, raw, Identifier("Sales", "ORDERS", "Raw")}) == 2
    assert sorted([upper, raw, own]) == [own, upper, raw]
    assert str(raw) == "raw.sales.orders"


def test_use_catalog_is_the_catalog_of_names_without_one() -> None:
    used = {"default_schema": DefaultSchema("shop", "main"), "catalog": "raw"}
    names = [str(Identifier.parse(text, **used)) for text in ("orders", "a.orders", "main.a.orders", "LIVE.orders")]
    assert names == ["raw.shop.orders", "raw.a.orders", "a.orders", "shop.orders"]


def test_a_default_schema_is_copied_with_its_catalog() -> None:
    schema = pickle.loads(pickle.dumps(DefaultSchema("shop", "main")))
    assert (schema, schema.catalog, schema.using("a"), schema.using(None).catalog) == ("shop", "main", "a", "main")


def test_order_and_pickling() -> None:
    names = [Identifier("b", "a"), Identifier("A", "z"), Identifier("a", "B")]
    assert [str(name) for name in sorted(names)] == ["a.B", "A.z", "b.a"]
    assert pickle.loads(pickle.dumps(names)) == names


@given(ANY_PART, ANY_PART, st.none() | ANY_PART)
def test_a_recorded_name_is_read_as_the_same(schema: str, name: str, catalog: str | None) -> None:
    identifier = Identifier(schema, name, catalog)
    assert Identifier.recorded(str(identifier)) == identifier


def test_a_dot_in_a_name_makes_no_catalog_of_a_schema() -> None:
    dotted = Identifier.parse("shop.`a.b`", default_schema="x")
    assert (str(dotted), dotted.dotted) == ("shop.`a.b`", "shop.a.b")
    assert Identifier.recorded("shop.a.b") == Identifier("a", "b", "shop")
    assert Identifier.recorded("shop.a.b.c") == Identifier("shop", "a.b.c")  # as logs of before have it
