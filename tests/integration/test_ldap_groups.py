"""Groups of a directory that become roles, StartTLS, and Active Directory's names, against a real LDAP server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.integration.ldap_server import GROUPS, PEOPLE, LdapServer, ldap_server

from penstock.config.sections.serve import ServeSettings
from penstock.errors import ExternalError
from penstock.runtime.serving.ldap.directory import Directory
from penstock.runtime.serving.users import Users, hash_password

_BASE = PEOPLE.removeprefix("ou=people,")
_USER = f"uid={{user}},{PEOPLE}"
_PASSWORDS = {"ada": "ada's", "bob": "bob's", r"köln\, \+1": "köln's", "*": "star's", "x)(cn\\=analysts": "star's"}
_MEMBERS = {"analysts": ["ada", r"k\c3\b6ln\, \+1"], "auditors": ["ada"], "unused": ["bob"]}
_ROLES = {
    "reader": (f"CN=Analysts, {GROUPS}",),
    "checker": (f"cn=auditors,{GROUPS}", f"cn=analysts,{PEOPLE}"),
    "nobody": (f"cn=misspelt,{GROUPS}",),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LdapServer]:
    with ldap_server(tmp_path_factory.mktemp("ldap"), _PASSWORDS, groups=_MEMBERS) as server:
        yield server


@pytest.fixture(scope="module")
def active(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LdapServer]:
    with ldap_server(
        tmp_path_factory.mktemp("active"), _PASSWORDS, groups=_MEMBERS, of_entries=True, active=True
    ) as server:
        yield server


def directory(server: LdapServer, **settings: object) -> tuple[Directory, list[str]]:
    """Returns the directory of settings as a pipeline file has them, and what it reports."""
    reported: list[str] = []
    given = {"ldap_url": server.url, "ldap_user": _USER, "ldap_certificates": server.certificates, "ldap_roles": _ROLES}
    found = Directory.of(ServeSettings(**{**given, **settings}), reported.append)  # type: ignore[arg-type]
    assert found is not None
    return found, reported


@pytest.mark.parametrize("condition", ["(member={dn})", "(&(objectClass=groupOfNames)(|(member={dn})(x={user})))"])
def test_groups_are_searched_by_their_members(server: LdapServer, condition: str) -> None:
    found, reported = directory(server, ldap_base=_BASE, ldap_group_filter=condition)
    assert found.log_in("ada", "ada's") == frozenset({"reader", "checker"})
    assert found.log_in("köln, +1", "köln's") == frozenset({"reader"})
    assert found.log_in("bob", "bob's") == frozenset()
    for user, password in (("ada", "bob's"), ("ada", ""), ("*", "ada's"), ("ada)(uid=bob", "ada's")):
        assert found.log_in(user, password) is None
    assert [line.split("'")[1] for line in reported if "[LDAP_GROUP_UNKNOWN]" in line] == [
        f"cn=analysts,{PEOPLE}",
        f"cn=misspelt,{GROUPS}",
    ], "each group that is not there is missed once"


def test_a_name_cannot_change_the_filter(server: LdapServer) -> None:
    found, _ = directory(server, ldap_base=_BASE, ldap_group_filter="(cn={user})")
    for user in ("*", "x)(cn=analysts"):
        assert found.log_in(user, "star's") == frozenset(), "no group has this name"


def test_groups_are_read_from_the_own_entry(active: LdapServer) -> None:
    found, reported = directory(active)
    assert found.log_in("ada", "ada's") == frozenset({"reader", "checker"})
    assert found.log_in("bob", "bob's") == frozenset()
    assert "cn=misspelt" in "".join(reported)


@pytest.mark.parametrize("user", ["{user}@example.com", "EXAMPLE\\{user}"])
def test_names_of_active_directory(active: LdapServer, user: str) -> None:
    found, _ = directory(active, ldap_user=user, ldap_base=_BASE)
    assert found.log_in("ada", "ada's") == frozenset({"reader", "checker"})
    assert found.log_in("bob", "bob's") == frozenset()
    for name in ("EXAMPLE\\ada", "ada@example.com", "*", "nobody"):
        assert found.log_in(name, "ada's") is None
    by_members, _ = directory(active, ldap_user=user, ldap_base=_BASE, ldap_group_filter="(sAMAccountName={user})")
    assert by_members.log_in("ada", "ada's") == frozenset()


def test_the_own_domain_may_be_typed(active: LdapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.serving.users._WRONG_PAUSE", 0.0)
    found, _ = directory(active, ldap_user="{user}@example.com", ldap_base=_BASE)
    users = Users(lambda: {"bob": hash_password("of the file")}, True, found)
    users.refresh()
    users.check("ada@Example.com", "ada's")
    assert users.roles() == {"reader": {"ada"}, "checker": {"ada"}}
    users.admit("ada")
    users.check("bob@example.com", "of the file")  # Hive knows him as bob, who is the file's
    for name, password in (("ada@elsewhere.com", "ada's"), ("bob@example.com", "bob's"), ("ada@example.com", "bob's")):
        with pytest.raises(Exception, match="SQL_LOGIN_FAILED"):
            users.check(name, password)


def test_the_roles_are_those_of_the_last_login(tmp_path: Path) -> None:
    with ldap_server(tmp_path / "first", _PASSWORDS, groups=_MEMBERS) as first:
        found, _ = directory(first, ldap_base=_BASE, ldap_group_filter="(member={dn})")
        listed: dict[str, str] = {}
        users = Users(lambda: dict(listed), True, found)
        users.check("ada", "ada's")
        assert users.roles() == {"reader": {"ada"}, "checker": {"ada"}}
    with ldap_server(tmp_path / "second", _PASSWORDS, groups={"analysts": ["ada"]}) as second:
        users.directory, _ = directory(second, ldap_base=_BASE, ldap_group_filter="(member={dn})")
        users.check("ada", "ada's")
        assert users.roles() == {"reader": {"ada"}}
        listed["ada"] = hash_password("of the file")
        users.refresh()
        assert users.roles() == {}, "a user of the file has the roles of the file"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"ldap_user": "{user}@example.com", "ldap_base": GROUPS}, "0 entries"),
        ({"ldap_user": "{user}@example.com", "ldap_base": "ou=nothing,dc=example,dc=com"}, "result code 32"),
        ({"ldap_base": "dc=elsewhere", "ldap_group_filter": "(member={dn})"}, "result code 32"),
    ],
)
def test_roles_that_cannot_be_known_refuse_the_login(active: LdapServer, settings: dict[str, str], reason: str) -> None:
    found, _ = directory(active, **settings)
    with pytest.raises(ExternalError, match=reason) as caught:
        found.log_in("ada", "ada's")
    assert caught.value.condition == "LDAP_UNAVAILABLE"
    assert "ada's" not in str(caught.value)


def test_start_tls_encrypts_before_the_password(tmp_path: Path) -> None:
    with ldap_server(tmp_path / "ldap", _PASSWORDS, start_tls=True, groups=_MEMBERS) as server:
        found, _ = directory(server, ldap_starttls=True, ldap_base=_BASE, ldap_group_filter="(member={dn})")
        found.reach()
        assert found.log_in("ada", "ada's") == frozenset({"reader", "checker"})
        assert found.log_in("ada", "bob's") is None
        other = Authority(tmp_path / "other").certificate
        named = server.url.replace("127.0.0.1", "127.0.0.2")
        for refused in (
            replace(found, certificates=other),
            replace(found, certificates=None),
            replace(found, url=named),
        ):
            for ask in (refused.reach, lambda refused=refused: refused.log_in("ada", "ada's")):
                with pytest.raises(ExternalError, match=r"(?i)certificate|refused") as caught:
                    ask()
                assert caught.value.condition == "LDAP_UNAVAILABLE"
    with ldap_server(tmp_path / "plain", _PASSWORDS, tls=False) as plain:
        found, _ = directory(plain, ldap_starttls=True, ldap_roles={})
        with pytest.raises(ExternalError, match="StartTLS"):
            found.log_in("ada", "ada's")
