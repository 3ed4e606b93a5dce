"""Temporary credentials that are replaced while a process works: Penstock's own clients of S3 take the new ones."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.integration.moto_server import ACCESS_KEY, SECRET_KEY
from tests.integration.s3_server import S3Server
from tests.store_faults import FaultyStore, expired_but

from penstock.errors import ExternalError
from penstock.storage import Storage
from penstock.storage.delta.table import open_delta_table, storage_options
from penstock.storage.stores.s3.objects import S3Object
from penstock.storage.stores.settings import use_store_settings

_KEYS = {"access.key": "", "secret.key": ""}
_EXPIRES = "2100-01-01T00:00:00Z"
"""Long after it is refused: a client that knows when its credentials expire asks for new ones by itself."""

Login = Callable[[str], None]
"""Replaces the session token there, where the clients have it from."""


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        server.bucket("lake")
        yield server


@pytest.fixture
def front(s3: S3Server) -> Iterator[FaultyStore]:
    with FaultyStore(s3.port) as store:
        yield store


@pytest.fixture(params=["profile", "process", "secret"])
def login(
    request: pytest.FixtureRequest,
    s3: S3Server,
    front: FaultyStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Login]:
    """The token is in a profile, in what a program prints, or in a file that a secret of the pipeline file names."""
    file, config = tmp_path / "token", tmp_path / "config"
    config.write_text(f"[default]\ncredential_process = cat {file}\n" if request.param == "process" else "")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file if request.param == "profile" else tmp_path / "none"))

    def write(token: str) -> None:
        if request.param == "profile":
            keys = f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
            file.write_text(f"[default]\n{keys}aws_session_token = {token}\n")
        elif request.param == "process":
            printed = {"AccessKeyId": ACCESS_KEY, "SecretAccessKey": SECRET_KEY, "SessionToken": token}
            file.write_text(json.dumps({"Version": 1, "Expiration": _EXPIRES, **printed}))
        else:
            file.write_text(token)

    def settings() -> dict[str, str]:
        keys = {"session.token": file.read_text()} if request.param == "secret" else _KEYS
        return s3.settings(endpoint=f"http://{front.address}", **keys)

    use_store_settings(settings)
    yield write
    use_store_settings(dict)


@pytest.fixture
def uses(login: Login, front: FaultyStore, tmp_path: Path) -> dict[str, Callable[[], object]]:
    """What each of the clients does, in objects that are made with the first token, as a run makes them."""
    login("first")
    place = f"s3a://lake/{tmp_path.name}"
    write_deltalake(f"{place}/orders", pa.table({"id": [1]}), storage_options=storage_options(f"{place}/orders"))
    storage, stored = Storage(place), S3Object(f"{place}/lock")
    stored.put(b"1")
    return {
        "botocore": stored.read,
        "pyarrow listing": storage.list,
        "pyarrow status": lambda: storage.exists("lock"),
        "pyarrow reading": lambda: storage.read_bytes("lock"),
        "delta-rs": lambda: open_delta_table(f"{place}/orders").count(),
    }


def test_expired_credentials_are_named_soon_and_renewed_ones_are_taken(
    uses: dict[str, Callable[[], object]], login: Login, front: FaultyStore
) -> None:
    said: dict[str, str] = {}
    for name, use in uses.items():
        use()
        front.fault = expired_but(lambda name=name: name)  # type: ignore[misc]
        began = time.monotonic()
        with pytest.raises(ExternalError) as caught:
            use()
        assert time.monotonic() - began < 20, name
        said[name] = caught.value.condition
        login(name)
        use()
    assert set(said.values()) == {"OBJECT_STORE_CREDENTIALS_EXPIRED"}, said


def test_credentials_that_are_renewed_before_the_old_ones_expire_are_not_missed(
    uses: dict[str, Callable[[], object]], login: Login, front: FaultyStore
) -> None:
    for name, use in uses.items():
        use()
        login(name)
        front.fault = expired_but(lambda name=name: name)  # type: ignore[misc]
        use()
    assert front.refused > 0
