"""Object stores that speak S3, reached without Spark and under the settings of Spark's own client, S3A."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ConfigError
from penstock.storage.stores.errors import is_expiry
from penstock.storage.stores.settings import S3A_SETTING, client_key, store_settings

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from pyarrow.fs import S3FileSystem

S3_SCHEMES: Final = frozenset({"s3", "s3a"})
_ANONYMOUS: Final = "AnonymousAWSCredentialsProvider"
_CREDENTIALS: Final = {
    "access_key": "access.key",
    "secret_key": "secret.key",
    "session_token": "session.token",
}
_OF_DELTA_RS: Final = {
    "access_key": "AWS_ACCESS_KEY_ID",
    "secret_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
}
_ENCRYPTIONS: Final = {"": None, "AES256": "AES256", "SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse"}
"""What S3A calls an encryption by the store, and what S3 calls it."""

NO_FOLDER: Final = "penstock-asks-why"
"""A folder in which nothing is: to list it is the smallest question whose answer has a body."""

_NOT_EMPTY: Final = "not empty"
_WITHOUT_REASON: Final = re.compile(r"\(HTTP status 40[03]\) during HeadObject")
_AWS_REGION: Final = re.compile(r"(?:^|\.)s3[.-](?:dualstack\.)?([a-z]{2,}(?:-[a-z]+)+-\d)\.amazonaws\.com")


def is_s3(uri: str) -> bool:
    """Whether a URI is one of S3, `s3://` or `s3a://`."""
    return uri.partition("://")[0].lower() in S3_SCHEMES and "://" in uri


def s3a_uri(uri: str) -> str:
    """Returns the one spelling of a place in S3: `s3a://`, and no slash at its end."""
    return f"s3a://{uri.partition('://')[2].rstrip('/')}"


def s3_arguments(bucket: str) -> dict[str, Any]:
    """Returns the arguments of pyarrow's S3 client for a bucket; what is not set, the AWS SDK's chain finds.

    `fs.s3a.bucket.NAME.…` goes before `fs.s3a.…`, as in S3A.
    """
    settings = _BucketSettings(bucket)
    arguments: dict[str, Any] = settings.credentials()
    if region := settings.region():
        arguments["region"] = region
    if endpoint := settings.endpoint():
        arguments["scheme"], _, arguments["endpoint_override"] = endpoint.partition("://")
        # S3A puts the bucket's name before the host's unless it is configured not to; pyarrow the other way round.
        arguments["force_virtual_addressing"] = not settings.path_style()
    if settings.anonymous():
        arguments["anonymous"] = True
    return arguments


def s3_delta_options(uri: str) -> dict[str, str]:
    """Returns the storage options with which delta-rs reaches a table.

    A commit is a PUT that the store refuses where the name is taken, as `ConditionalLogStore` of Spark does it.

    Raises:
        ConfigError: OBJECT_STORE_ENCRYPTION_UNSUPPORTED, SECRET_NOT_FOUND.
    """
    bucket = uri.partition("://")[2].partition("/")[0]
    settings = _BucketSettings(bucket)
    options = {"AWS_CONDITIONAL_PUT": "etag", **settings.encryption(uri)}
    credentials = settings.credentials()
    options |= {_OF_DELTA_RS[name]: value for name, value in credentials.items()}
    if region := settings.region():
        options["AWS_REGION"] = region
    if endpoint := settings.endpoint():
        scheme, _, host = endpoint.partition("://")
        virtual = not settings.path_style()
        options["AWS_ENDPOINT_URL"] = f"{scheme}://{bucket}.{host}" if virtual else endpoint
        options["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = str(virtual).lower()
        options["AWS_ALLOW_HTTP"] = str(scheme == "http").lower()
    if settings.anonymous():
        options["AWS_SKIP_SIGNATURE"] = "true"
    elif not credentials:
        options["AWS_FORCE_CREDENTIAL_LOAD"] = "true"  # the SDK's whole chain, with profiles, at any endpoint
    return options


class _BucketSettings:
    """What S3A's settings say of one bucket."""

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket
        self._settings = store_settings()

    def _get(self, name: str) -> str:
        own, common = (f"{S3A_SETTING}{key}" for key in (f"bucket.{self._bucket}.{name}", name))
        return (self._settings.get(own) or self._settings.get(common) or "").strip()

    def credentials(self) -> dict[str, str]:
        return {name: value for name, key in _CREDENTIALS.items() if (value := self._get(key))}

    def region(self) -> str:
        """As it is set; else the one in the name of an endpoint of AWS, as for S3A."""
        match = _AWS_REGION.search(self._get("endpoint"))
        return self._get("endpoint.region") or (match[1] if match else "")

    def endpoint(self) -> str:
        """A URL, empty for AWS's own."""
        scheme, found, host = self._get("endpoint").rpartition("://")
        plain = self._get("connection.ssl.enabled").casefold() == "false"
        return f"{scheme if found else 'http' if plain else 'https'}://{host.rstrip('/')}" if host else ""

    def path_style(self) -> bool:
        return self._get("path.style.access").casefold() == "true"

    def anonymous(self) -> bool:
        return self._get("aws.credentials.provider").rpartition(".")[2] == _ANONYMOUS

    def encryption(self, uri: str) -> dict[str, str]:
        algorithm = self._get("encryption.algorithm") or self._get("server-side-encryption-algorithm")
        if algorithm.upper() not in _ENCRYPTIONS:
            raise ConfigError(
                "OBJECT_STORE_ENCRYPTION_UNSUPPORTED", uri=uri, setting=f"fs.s3a.encryption.algorithm: {algorithm}"
            )
        kind = _ENCRYPTIONS[algorithm.upper()]
        if kind is None:
            return {}
        key = self._get("encryption.key") or self._get("server-side-encryption.key")
        of_key = {"AWS_SSE_KMS_KEY_ID": key} if key and kind != "AES256" else {}
        return {"AWS_SERVER_SIDE_ENCRYPTION": kind, **of_key}


def s3_encryption(uri: str) -> Mapping[str, str]:
    """Returns how the store is to encrypt what is written at a URI, in delta-rs's names; empty where it decides itself.

    Raises:
        ConfigError: OBJECT_STORE_ENCRYPTION_UNSUPPORTED, SECRET_NOT_FOUND.
    """
    return _BucketSettings(uri.partition("://")[2].partition("/")[0]).encryption(uri)


def s3_filesystem(uri: str) -> AbstractFileSystem:
    """Returns the file system of an `s3://` or `s3a://` URI."""
    from fsspec.implementations.arrow import ArrowFSWrapper

    class _Objects(ArrowFSWrapper):  # type: ignore[misc]
        cachable = False

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            """As it is: the wrapper's own way takes what follows a question mark in a key for something else."""
            return str(path).rpartition("://")[2].rstrip("/")

        def walk(self, path: str, maxdepth: int | None = None, **options: Any) -> Any:
            """As fsspec's own, which takes a refusal for an empty folder."""
            return super().walk(path, maxdepth, **{**options, "on_error": "raise"})

        def makedirs(self, path: str, exist_ok: bool = False) -> None:
            """Nothing: a key needs no folder, and an object for one would be listed."""

        def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
            """As the wrapper's; a gateway to a disk may refuse a folder whose files are deleted by the same request."""
            try:
                super().rm(path, recursive, maxdepth)
            except OSError as error:
                if _NOT_EMPTY not in str(error):
                    raise
                if self.exists(path):
                    super().rm(path, recursive, maxdepth)

        def cp_file(self, path1: str, path2: str, **_: Any) -> None:
            self.fs.copy_file(self._strip_protocol(path1), self._strip_protocol(path2))

    return _Objects(_Client(uri.partition("://")[2].partition("/")[0]))


class _Client:
    """pyarrow's client of a bucket, made again when its credentials have expired."""

    type_name = "s3"

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket
        self._ask("normalize_path", bucket)  # makes the first one now

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._ask, name)

    def _ask(self, name: str, *arguments: Any, **options: Any) -> Any:
        try:
            return self._ask_once(name, *arguments, **options)
        except OSError as error:
            if not is_expiry(str(error)):
                raise
        return self._ask_once(name, *arguments, **options)

    def _ask_once(self, name: str, *arguments: Any, **options: Any) -> Any:
        from pyarrow.fs import FileSelector

        client = _client(self._bucket, client_key())
        try:
            return getattr(client, name)(*arguments, **options)
        except OSError as error:
            if _WITHOUT_REASON.search(
                str(error)
            ):  # only the answer to a listing has a body, and so the reason to raise
                client.get_file_info(FileSelector(f"{self._bucket}/{NO_FOLDER}", allow_not_found=True))
            raise


@lru_cache(maxsize=16)
def _client(bucket: str, _key: object) -> S3FileSystem:
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(**s3_arguments(bucket))
