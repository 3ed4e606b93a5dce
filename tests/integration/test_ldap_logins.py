"""Logins by a directory, against a real LDAP server; `test_serve.py` has them through the endpoint."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.integration.ldap_server import PEOPLE, LdapServer, ldap_server

from penstock.config.sections.serve import ServeSettings
from penstock.errors import ConfigError, ExternalError
from penstock.runtime.serving.ldap import directory as module
from penstock.runtime.serving.ldap.directory import Directory
from penstock.runtime.serving.users import Users, hash_password

_PASSWORDS = {"ada": "ada's", r"köln\, \+1": "pass wörd", "long": "x" * 300}
_USER = f"uid={{user}},{PEOPLE}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LdapServer]:
    with ldap_server(tmp_path_factory.mktemp("ldap"), _PASSWORDS) as server:
        yield server


def directory(server: LdapServer, user: str = _USER) -> Directory:
    return Directory(server.url, user, server.certificates)


@pytest.mark.parametrize(("user", "password"), [("ada", "ada's"), ("köln, +1", "pass wörd"), ("long", "x" * 300)])
def test_the_right_password_is_known(server: LdapServer, user: str, password: str) -> None:
    assert directory(server).log_in(user, password) == frozenset()


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("ada", "bob's"),
        ("ada", ""),  # the server would take it for a bind of no one, which succeeds
        ("", ""),
        ("nobody", "ada's"),
        (f"ada,{PEOPLE}", "ada's"),  # a name adds nothing to the DN
        ("nobody+uid=ada", "ada's"),
        ("ada@example.com", "ada's"),  # of which Hive would make ada
        ("ada/elsewhere", "ada's"),
        (" ada", "ada's"),
        ("a*", "ada's"),
        ("ada\x00", "ada's"),
    ],
)
def test_everything_else_is_not(server: LdapServer, user: str, password: str) -> None:
    assert directory(server).log_in(user, password) is None


def test_a_name_that_is_no_dn_is_sent_as_it_is(server: LdapServer) -> None:
    with pytest.raises(ExternalError) as caught:
        directory(server, "{user}@example.com").log_in("ada", "ada's")
    assert caught.value.condition == "LDAP_UNAVAILABLE"
    assert "34" in str(caught.value), "the result code of a server that takes DNs only"
    assert "ada's" not in str(caught.value)


def test_a_certificate_of_another_authority_or_host_is_refused(server: LdapServer, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other").certificate
    for refused in (
        Directory(server.url, _USER, other),
        Directory(server.url, _USER),
        Directory(server.url.replace("127.0.0.1", "127.0.0.2"), _USER, server.certificates),
    ):
        with pytest.raises(ExternalError) as caught:
            refused.log_in("ada", "ada's")
        assert "ertificate" in str(caught.value) or "CERTIFICATE" in str(caught.value) or "refused" in str(caught.value)


def test_a_server_without_tls_is_taken_on_this_machine_only(tmp_path: Path) -> None:
    with ldap_server(tmp_path / "plain", {"ada": "ada's"}, tls=False) as plain:
        found = Directory.of(ServeSettings(ldap_url=plain.url, ldap_user=_USER))
        assert found is not None
        assert found.log_in("ada", "ada's") == frozenset()
        assert found.log_in("ada", "bob's") is None
        plain.stop()
        for ask in (found.reach, lambda: found.log_in("ada", "ada's")):
            with pytest.raises(ExternalError) as caught:
                ask()
            assert (caught.value.condition, caught.value.facts["url"]) == ("LDAP_UNAVAILABLE", plain.url)
        plain.start()
        assert found.log_in("ada", "ada's") == frozenset()


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x30\x84\xff\xff\xff\xff", b"\x30\x02\x02\x01", None]
)
def test_what_speaks_something_else_is_not_waited_for(answer: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                if answer is None:
                    connection.recv(1)  # says nothing until the client goes away
                else:
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(ExternalError) as caught:
            Directory(f"ldap://127.0.0.1:{listener.getsockname()[1]}", _USER).log_in("ada", "ada's")
    assert caught.value.condition == "LDAP_UNAVAILABLE"


def _groups(**more: object) -> dict[str, object]:
    return {"ldap_url": "ldaps://a", "ldap_user": _USER, "ldap_roles": {"a": ("cn=a,dc=b",)}, **more}


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"ldap_user": _USER}, "serve.ldap_url"),
        ({"ldap_url": "ldaps://a"}, "serve.ldap_user"),
        ({"ldap_url": "ldaps://a", "ldap_user": "uid=ada"}, "serve.ldap_user"),
        ({"ldap_url": "ldap://ldap.example.com", "ldap_user": _USER}, "serve.ldap_url"),
        ({"ldap_url": "https://ldap.example.com", "ldap_user": _USER}, "serve.ldap_url"),
        ({"ldap_url": "ldaps://a:port", "ldap_user": _USER}, "serve.ldap_url"),
        ({"ldap_url": "ldaps://a/dc=example", "ldap_user": _USER}, "serve.ldap_url"),
        (
            {"ldap_url": "ldaps://a", "ldap_user": _USER, "ldap_certificates": Path("none.pem")},
            "serve.ldap_certificates",
        ),
        ({"ldap_url": "ldaps://a", "ldap_user": _USER, "ldap_starttls": True}, "serve.ldap_starttls"),
        ({"ldap_starttls": True}, "serve.ldap_url"),
        ({"ldap_roles": {"a": ("cn=a",)}}, "serve.ldap_url"),
        (_groups(ldap_roles={"a": ("analysts",)}), "serve.ldap_roles.a"),
        (_groups(ldap_user="{user}"), "serve.ldap_user"),
        (_groups(ldap_user="{user}@example.com"), "serve.ldap_base"),
        (_groups(ldap_group_filter="(member={dn})"), "serve.ldap_base"),
        (_groups(ldap_base="example.com"), "serve.ldap_base"),
        (_groups(ldap_base="dc=a", ldap_group_filter="member={dn}"), "serve.ldap_group_filter"),
        (_groups(ldap_base="dc=a", ldap_group_filter="(member=*)"), "serve.ldap_group_filter"),
        (_groups(ldap_base="dc=a", ldap_group_filter="(member={name})"), "serve.ldap_group_filter"),
        (_groups(ldap_base="dc=a", ldap_roles={}), "serve.ldap_base"),
    ],
)
def test_settings_that_cannot_work_are_named(settings: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Directory.of(ServeSettings(**settings))  # type: ignore[arg-type]
    assert (caught.value.condition, caught.value.facts["key"]) == ("SERVE_LDAP_INVALID", key)


def test_users_of_the_file_come_first_and_others_may_come_too(
    server: LdapServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.runtime.serving.users._WRONG_PAUSE", 0.0)
    listed = {"ada": hash_password("of the file"), "bob": hash_password("bob's")}
    users = Users(lambda: dict(listed), True, directory(server))
    users.refresh()
    users.check("ada", "of the file")
    users.check("long", "x" * 300)
    for user, password in (("ada", "ada's"), ("long", "y"), ("nobody", "")):
        with pytest.raises(ConfigError) as caught:
            users.check(user, password)
        assert caught.value.condition == "SQL_LOGIN_FAILED"
    users.admit("long")
    del listed["bob"]
    assert users.refresh() == {"bob"}
    with pytest.raises(Exception, match="bob"):
        users.admit("bob")
