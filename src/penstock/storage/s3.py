"""Object stores that speak S3, reached without Spark and under the settings of Spark's own client, S3A."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

S3_SCHEMES: Final = frozenset({"s3", "s3a"})
S3A_SETTING: Final = "spark.hadoop.fs.s3a."
"""How the settings of S3A begin among those of a session."""

_ANONYMOUS: Final = "AnonymousAWSCredentialsProvider"
_ARGUMENTS: Final = {
    "access_key": "access.key",
    "secret_key": "secret.key",
    "session_token": "session.token",
    "region": "endpoint.region",
}
_settings: dict[str, str] = {}


def use_s3_settings(spark_conf: Mapping[str, str]) -> None:
    """Takes over what a session's settings say of S3A, secrets resolved; called when a session starts.

    Settings of an earlier session are forgotten.
    """
    _settings.clear()
    _settings.update(
        {key.removeprefix(S3A_SETTING): value for key, value in spark_conf.items() if key.startswith(S3A_SETTING)}
    )


def s3_arguments(bucket: str) -> dict[str, Any]:
    """Returns the arguments of pyarrow's S3 client for a bucket; what is not set, the AWS SDK's chain finds.

    `fs.s3a.bucket.NAME.…` goes before `fs.s3a.…`, as in S3A.
    """

    def setting(name: str) -> str:
        return (_settings.get(f"bucket.{bucket}.{name}") or _settings.get(name) or "").strip()

    arguments: dict[str, Any] = {name: value for name, key in _ARGUMENTS.items() if (value := setting(key))}
    if endpoint := setting("endpoint"):
        scheme, found, host = endpoint.rpartition("://")
        plain = setting("connection.ssl.enabled").casefold() == "false"
        arguments["scheme"] = scheme if found else "http" if plain else "https"
        arguments["endpoint_override"] = host.rstrip("/")
        # S3A puts the bucket's name before the host's unless it is told not to; pyarrow the other way round.
        arguments["force_virtual_addressing"] = setting("path.style.access").casefold() != "true"
    if setting("aws.credentials.provider").rpartition(".")[2] == _ANONYMOUS:
        arguments["anonymous"] = True
    return arguments


def s3_filesystem(uri: str) -> AbstractFileSystem:
    """Returns the file system of an `s3://` or `s3a://` URI."""
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow.fs import S3FileSystem

    class _Objects(ArrowFSWrapper):  # type: ignore[misc]
        cachable = False

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            """As it is: the wrapper's own way takes what follows a question mark in a key for something else."""
            return str(path).rpartition("://")[2].rstrip("/")

        def makedirs(self, path: str, exist_ok: bool = False) -> None:
            """Nothing: a key needs no folder, and an object that stands for one would be listed."""

        def cp_file(self, path1: str, path2: str, **_: Any) -> None:
            self.fs.copy_file(self._strip_protocol(path1), self._strip_protocol(path2))

    bucket = uri.partition("://")[2].partition("/")[0]
    return _Objects(S3FileSystem(**s3_arguments(bucket)))
