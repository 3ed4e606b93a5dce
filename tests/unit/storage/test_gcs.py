"""The settings of Google's connector, Spark's client of Google Cloud Storage, are those of Penstock's own clients."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from google.auth.compute_engine import Credentials
from google.auth.credentials import AnonymousCredentials

from penstock.errors import ConfigError, PenstockError
from penstock.storage.delta.table import storage_options
from penstock.storage.filesystem import can_open
from penstock.storage.stores.errors import object_store_error
from penstock.storage.stores.gcs.client import GcsClient, _session
from penstock.storage.stores.gcs.settings import GcsPlace
from penstock.storage.stores.settings import use_store_settings
from penstock.storage.stores.stores import store_of

PLACE = "gs://lake/tables/orders"
KEY_FILE = "auth.service.account.json.keyfile"


@pytest.fixture(autouse=True)
def _no_settings_left() -> Iterator[None]:
    yield
    use_store_settings(dict)
    _session.cache_clear()


def use(settings: Mapping[str, str]) -> None:
    use_store_settings(lambda: {f"spark.hadoop.fs.gs.{key}": value for key, value in settings.items()})


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        ({"auth.type": "COMPUTE_ENGINE"}, {}),
        ({"auth.type": "unauthenticated"}, {"GOOGLE_SKIP_SIGNATURE": "true"}),
        (
            {"auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", KEY_FILE: "/etc/google.json"},
            {"GOOGLE_SERVICE_ACCOUNT": "/etc/google.json"},
        ),
        (
            {"storage.root.url": "http://127.0.0.1:4443/"},
            {"GOOGLE_BASE_URL": "http://127.0.0.1:4443", "ALLOW_HTTP": "true"},
        ),
        ({"storage.root.url": "https://storage.googleapis.com/"}, {}),
    ],
)
def test_delta_rs_logs_in_as_the_connector_does(settings: Mapping[str, str], options: Mapping[str, str]) -> None:
    use(settings)
    assert storage_options(PLACE) == options


@pytest.mark.parametrize(
    ("kind", "credentials"), [("COMPUTE_ENGINE", Credentials), ("UNAUTHENTICATED", AnonymousCredentials)]
)
def test_so_does_the_client_of_the_storage(kind: str, credentials: type) -> None:
    use({"auth.type": kind})
    assert isinstance(GcsClient(PLACE)._session.credentials, credentials)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE"}, f"spark.hadoop.fs.gs.{KEY_FILE}"),
        ({"auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", KEY_FILE: "/nowhere/google.json"}, "/nowhere/google.json"),
        ({"auth.type": "USER_CREDENTIALS"}, "USER_CREDENTIALS"),
    ],
)
def test_a_login_that_is_missing_is_named(settings: Mapping[str, str], said: str) -> None:
    use(settings)
    with pytest.raises(ConfigError) as caught:
        GcsClient(PLACE)
    assert caught.value.condition == "OBJECT_STORE_CREDENTIALS_MISSING"
    assert said in str(caught.value.facts["detail"])


def test_the_file_of_the_environment_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "user.json"
    user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    file.write_text(json.dumps(user))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    use({})
    assert GcsClient(PLACE)._session.credentials.refresh_token == "r"
    file.unlink()
    _session.cache_clear()
    with pytest.raises(ConfigError) as caught:
        GcsClient(PLACE)
    assert caught.value.condition == "OBJECT_STORE_CREDENTIALS_MISSING"


def test_without_the_extra_nothing_can_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_open(PLACE)
    monkeypatch.setitem(sys.modules, "google.auth", None)
    monkeypatch.setitem(sys.modules, "requests", None)
    assert not can_open(PLACE)


@pytest.mark.parametrize(
    ("uri", "said"), [("gs://lake", "whole bucket"), ("gs://lake/", "whole bucket"), ("gs://lake/a?b", "'?'")]
)
def test_where_no_table_can_be(uri: str, said: str) -> None:
    store = store_of(uri)
    assert store is not None
    assert said in str(store.unsupported_for_table(uri))
    assert store.unsupported_for_table(PLACE) is None
    assert store.table_uri("GS://Lake/a/") == "gs://Lake/a"
    assert GcsPlace.of("gs://lake/a b/ü=1/") == GcsPlace("lake", "a b/ü=1")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("Not Found (NoSuchBucket)", "OBJECT_STORE_BUCKET_NOT_FOUND"),
        ("Request had invalid authentication credentials. (401 Unauthorized)", "OBJECT_STORE_ACCESS_DENIED"),
        ("does not have storage.objects.create access (403 Forbidden)", "OBJECT_STORE_ACCESS_DENIED"),
        ("invalid_grant: Invalid JWT Signature. (401 RefreshError)", "OBJECT_STORE_ACCESS_DENIED"),
        ("We encountered an internal error. Please try again. (503 Service Unavailable)", "STORAGE_FAILED"),
        ("HTTPConnectionPool: Max retries exceeded (ServiceRequestError)", "STORAGE_FAILED"),
    ],
)
def test_what_the_store_says(text: str, condition: str) -> None:
    error = object_store_error(PLACE, OSError(text))
    assert isinstance(error, PenstockError)
    assert error.condition == condition
