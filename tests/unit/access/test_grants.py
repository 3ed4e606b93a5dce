"""What grants allow: inheritance, closing, roles, and the default."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.grants import Access, Grants, Securable
from penstock.errors import StateError, render
from penstock.graph.identifier import Identifier

ORDERS, PEOPLE, OTHER = Identifier("shop", "orders"), Identifier("shop", "people"), Identifier("hr", "people")
ELSEWHERE = Identifier("shop", "orders", "backup")
QUARANTINE, LATE = Identifier("shop", "orders__quarantine"), Identifier("shop", "orders__late")
TABLE, SCHEMA, CATALOG = Securable.of_table(ORDERS), Securable(None, "shop"), Securable(None)
ROLES = {"analysts": frozenset({"ada", "bob"}), "everyone": frozenset({"*"})}


def granted(*changes: tuple[Securable, str]) -> Grants:
    grants = Grants()
    for securable, principal in changes:
        grants = grants.with_change(securable, principal, granted=True)
    return grants


@pytest.mark.parametrize(
    ("changes", "user", "readable"),
    [
        ([], "eve", {ORDERS, PEOPLE, OTHER, ELSEWHERE, QUARANTINE, LATE}),
        ([(TABLE, "analysts")], "ada", {ORDERS, PEOPLE, OTHER, ELSEWHERE}),
        ([(TABLE, "analysts")], "eve", {PEOPLE, OTHER, ELSEWHERE}),
        ([(TABLE, "eve")], "eve", {ORDERS, PEOPLE, OTHER, ELSEWHERE}),
        ([(TABLE, "eve"), (Securable.of_table(LATE), "eve")], "eve", {ORDERS, LATE, PEOPLE, OTHER, ELSEWHERE}),
        ([(SCHEMA, "analysts")], "bob", {ORDERS, PEOPLE, OTHER, ELSEWHERE, QUARANTINE, LATE}),
        ([(SCHEMA, "analysts")], "eve", {OTHER, ELSEWHERE}),
        ([(SCHEMA, "analysts"), (TABLE, "eve")], "eve", {ORDERS, OTHER, ELSEWHERE}),
        ([(CATALOG, "analysts")], "eve", {ELSEWHERE}),
        ([(CATALOG, "analysts")], "ada", {ORDERS, PEOPLE, OTHER, ELSEWHERE, QUARANTINE, LATE}),
        ([(Securable("Backup", "SHOP"), "analysts")], "eve", {ORDERS, PEOPLE, OTHER, QUARANTINE, LATE}),
        ([(TABLE, "everyone")], "eve", {ORDERS, PEOPLE, OTHER, ELSEWHERE}),
        ([(TABLE, "everyone")], None, {ORDERS, PEOPLE, OTHER, ELSEWHERE}),
        ([(TABLE, "analysts")], None, {PEOPLE, OTHER, ELSEWHERE}),
    ],
)
def test_who_reads_what(changes: list[tuple[Securable, str]], user: str | None, readable: set[Identifier]) -> None:
    every = {ORDERS, PEOPLE, OTHER, ELSEWHERE, QUARANTINE, LATE}
    allowing = Access(granted(*changes), ROLES)
    assert {table for table in every if allowing.allows(user, table)} == readable
    denying = Access(granted(*changes), ROLES, default_deny=True)
    named = {table for table in readable if denying.grants.readers(table) is not None}
    assert {table for table in every if denying.allows(user, table)} == named


def test_a_table_whose_last_grant_was_revoked_stays_closed() -> None:
    revoked = granted((TABLE, "analysts")).with_change(TABLE, "analysts", granted=False)
    access = Access(revoked, ROLES)
    assert not access.allows("ada", ORDERS)
    assert not access.allows("eve", ORDERS)
    assert Access(Grants().with_change(TABLE, "eve", granted=False)).allows("eve", ORDERS), "nothing was ever granted"


def test_a_user_has_no_role_by_its_name() -> None:
    access = Access(granted((TABLE, "analysts")), {"analysts": frozenset({"ada"})})
    assert access.allows("analysts", ORDERS), "a grant to a name is for the user of that name too"
    assert not access.allows("everyone", ORDERS)
    assert not access.allows("*", ORDERS)


def test_a_refusal_says_what_to_type() -> None:
    access = Access(granted((TABLE, "analysts")))
    with pytest.raises(StateError) as refused:
        access.check("ada@example.com", [PEOPLE, ORDERS])
    assert refused.value.condition == "INSUFFICIENT_PERMISSIONS"
    assert refused.value.message.startswith("The user ada@example.com may not read the table 'shop.orders'")
    assert "'GRANT SELECT ON TABLE shop.orders TO `ada@example.com`'" in refused.value.fix
    access.check("ada@example.com", [PEOPLE])


_CHANGES = st.tuples(
    st.sampled_from([TABLE, SCHEMA, CATALOG, Securable.of_table(PEOPLE)]), st.sampled_from("abc"), st.booleans()
)


@given(st.lists(_CHANGES, max_size=12))
def test_the_last_change_of_each_pair_decides(changes: list[tuple[Securable, str, bool]]) -> None:
    grants = Grants()
    for securable, principal, is_grant in changes:
        grants = grants.with_change(securable, principal, granted=is_grant)
    last = {(securable, principal): is_grant for securable, principal, is_grant in changes}
    for table in (ORDERS, PEOPLE):
        around = Securable.of_table(table).around()
        ever = any(securable in around and is_grant for securable, _, is_grant in changes)
        readers = grants.readers(table)
        assert (readers is not None) == ever
        for principal in "abc":
            assert (principal in (readers or ())) == any(last.get((each, principal)) for each in around)


def test_a_reader_without_a_name_gets_a_command_that_can_be_typed() -> None:
    for roles, principal in ((ROLES, "everyone"), ({"guests": frozenset({"*"})}, "guests"), ({}, "everyone")):
        refusal = Access(Grants(), roles, default_deny=True).refusal(None, ORDERS)
        assert f"penstock sql 'GRANT SELECT ON TABLE shop.orders TO {principal}'." in render(refusal)
