"""Users of the SQL endpoint: hashes, secrets, and who is taken out."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.config import load_project
from penstock.config.sections.serve import ServeSettings
from penstock.config.values.secret import SecretReference
from penstock.errors import ConfigError, PenstockError, StateError
from penstock.runtime.serving import users as module
from penstock.runtime.serving.server import check_settings, with_endpoint
from penstock.runtime.serving.users import Users, hash_password, is_password


def _serve(folder: Path, **serve: object) -> ServeSettings:
    (folder / "penstock.yml").write_text(json.dumps({"name": "orders", "serve": serve}))
    return load_project(folder, environ={"BOB": "secret of bob"}).serve


def _users(users: Mapping[str, SecretReference | str]) -> Users:
    known = Users(lambda: users, declared=True)
    known.refresh()
    return known


def test_a_hash_is_salted_and_knows_its_password() -> None:
    first, second = hash_password("köln 1"), hash_password("köln 1")
    assert first != second
    assert is_password("köln 1", first)
    assert not is_password("köln 2", first)
    assert not is_password(first, first), "the hash itself opens nothing"


def test_passwords_are_hashes_or_references(tmp_path: Path) -> None:
    users = _users(_serve(tmp_path, users={"ada": hash_password("a"), "bob": "${env:BOB}", "eve": "${env:EVE}"}).users)
    users.check("ada", "a")
    users.check("bob", "secret of bob")
    for user, password in (("ada", "b"), ("bob", ""), ("eve", ""), ("nobody", ""), ("nobody", "a")):
        with pytest.raises(ConfigError) as caught:
            users.check(user, password)
        assert (caught.value.condition, caught.value.facts["user"]) == ("SQL_LOGIN_FAILED", user)


def test_a_guesser_has_a_try_a_second_and_the_owner_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[str] = []
    first_pauses, let_go = threading.Event(), threading.Event()

    def pause(_: float) -> None:
        pauses.append(threading.current_thread().name)
        first_pauses.set()
        assert let_go.wait(30)

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=pause))
    users = _users({"ada": hash_password("a"), "bob": hash_password("b")})

    def guess(user: str) -> None:
        with pytest.raises(ConfigError):
            users.check(user, "wrong")

    with ThreadPoolExecutor(4) as pool:
        guesses = [pool.submit(guess, "ada") for _ in range(4)]
        assert first_pauses.wait(30)
        users.check("ada", "a")
        users.check("bob", "b")
        assert len(pauses) == 1, "the others wait for the first one's second"
        assert not any(each.done() for each in guesses)
        let_go.set()
    assert len(pauses) == 4


def test_a_password_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        _serve(tmp_path, users={"ada": "hunter2"})
    assert caught.value.condition == "CONFIG_SECRET_LITERAL"
    assert "hunter2" not in str(caught.value)


def test_a_user_who_is_taken_out_or_has_another_hash_is_named() -> None:
    current: dict[str, SecretReference | str] = {"ada": "scrypt:1", "bob": "scrypt:2", "eve": "scrypt:3"}
    users = Users(lambda: dict(current), declared=True)
    users.refresh()
    assert users.refresh() == set()
    del current["ada"]
    current["bob"] = "scrypt:4"
    assert users.refresh() == {"ada", "bob"}
    with pytest.raises(StateError) as caught:
        users.admit("ada")
    assert caught.value.condition == "SQL_USER_REVOKED"
    users.admit("eve")


@pytest.mark.parametrize(
    ("serve", "condition"),
    [
        ({"address": "0.0.0.0"}, "SERVE_USERS_MISSING"),
        ({"keystore": "none.p12", "keystore_password": "${env:A}"}, "SERVE_KEYSTORE_INVALID"),
        ({"keystore": "penstock.yml"}, "SERVE_KEYSTORE_INVALID"),
        ({"port": 70000}, "SERVE_PORT_TAKEN"),
        ({"users": {"ada@corp": "${env:A}"}}, "CONFIG_INVALID_VALUE"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_spark_starts(
    tmp_path: Path, serve: dict[str, object], condition: str
) -> None:
    with pytest.raises(PenstockError) as caught:
        check_settings(_serve(tmp_path, **serve))
    assert caught.value.condition == condition


def test_the_settings_of_another_server_in_the_environment_are_not_heeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "penstock.yml").write_text("name: a\nspark_conf: {spark.sql.hive.thriftServer.singleSession: true}\n")
    monkeypatch.setenv("HIVE_SERVER2_THRIFT_BIND_HOST", "0.0.0.0")
    served = with_endpoint(load_project(tmp_path))
    assert "HIVE_SERVER2_THRIFT_BIND_HOST" not in os.environ
    assert served.spark_conf["spark.sql.hive.thriftServer.singleSession"] == "false"
