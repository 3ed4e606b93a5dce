"""Google Cloud Storage by the settings of Spark's client, Google's connector: where it is, and who asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from penstock.errors import ConfigError
from penstock.storage.stores.settings import GCS_SETTING, store_settings

GCS_SCHEMES: Final = frozenset({"gs"})
_GOOGLE: Final = "https://storage.googleapis.com"
_KEY_FILE: Final = "auth.service.account.json.keyfile"


@dataclass(frozen=True, slots=True)
class GcsPlace:
    """A place in a bucket."""

    bucket: str
    key: str

    @staticmethod
    def of(uri: str) -> GcsPlace:
        """Returns the place of a `gs://BUCKET/KEY` URI, or of `BUCKET/KEY`."""
        bucket, _, key = uri.rpartition("://")[2].partition("/")
        return GcsPlace(bucket, key.rstrip("/"))


class GcsLogin(StrEnum):
    """Who asks, as `fs.gs.auth.type` says it."""

    DEFAULT = "APPLICATION_DEFAULT"
    KEY_FILE = "SERVICE_ACCOUNT_JSON_KEYFILE"
    MACHINE = "COMPUTE_ENGINE"
    ANONYMOUS = "UNAUTHENTICATED"


def endpoint() -> str:
    """Returns the URL of the store, without a slash at its end; `fs.gs.storage.root.url` is that of an emulator."""
    return _get("storage.root.url").rstrip("/") or _GOOGLE


def login() -> GcsLogin:
    """Returns who asks; the default is Google's chain, as Penstock's default for Spark.

    Raises:
        ConfigError: OBJECT_STORE_CREDENTIALS_MISSING.
    """
    kind = _get("auth.type").upper() or GcsLogin.DEFAULT
    try:
        return GcsLogin(kind)
    except ValueError:
        reason = f"only Spark's client knows the login {kind!r} of 'fs.gs.auth.type'"
        raise ConfigError("OBJECT_STORE_CREDENTIALS_MISSING", detail=f"{endpoint()}: {reason}") from None


def key_file() -> str:
    """Returns the path of the service account's key file.

    Raises:
        ConfigError: OBJECT_STORE_CREDENTIALS_MISSING.
    """
    if path := _get(_KEY_FILE):
        return path
    reason = f"'{GCS_SETTING}{_KEY_FILE}' is not set"
    raise ConfigError("OBJECT_STORE_CREDENTIALS_MISSING", detail=f"{endpoint()}: {reason}")


def gcs_delta_options() -> dict[str, str]:
    """Returns the storage options with which delta-rs reaches a table; its commits are PUTs on generation 0.

    Raises:
        ConfigError: OBJECT_STORE_CREDENTIALS_MISSING, SECRET_NOT_FOUND.
    """
    who, url = login(), endpoint()
    options = {} if url == _GOOGLE else {"GOOGLE_BASE_URL": url, "ALLOW_HTTP": str(url.startswith("http:")).lower()}
    if who is GcsLogin.KEY_FILE:
        options["GOOGLE_SERVICE_ACCOUNT"] = key_file()
    if who is GcsLogin.ANONYMOUS:
        options["GOOGLE_SKIP_SIGNATURE"] = "true"
    return options


def _get(name: str) -> str:
    return store_settings().get(f"{GCS_SETTING}{name}", "").strip()
