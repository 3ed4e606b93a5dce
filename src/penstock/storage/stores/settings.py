"""The settings of Spark's clients of object stores, under which Penstock itself reaches them as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock.errors import PenstockError, SourceLocation

S3A_SETTING: Final = "spark.hadoop.fs.s3a."
"""How the settings of S3A begin among those of a session."""

AZURE_SETTING: Final = "spark.hadoop.fs.azure."
"""How the settings of ABFS, Azure's client, begin."""

GCS_SETTING: Final = "spark.hadoop.fs.gs."
"""How the settings of Google's connector begin."""

HDFS_SETTING: Final = "spark.hadoop.dfs."
"""How the settings of HDFS begin."""

KERBEROS_SETTING: Final = "spark.kerberos."
"""How those of Spark's login at Kerberos begin."""

_OF_CLIENTS: Final = (S3A_SETTING, AZURE_SETTING, GCS_SETTING, HDFS_SETTING, KERBEROS_SETTING)
_source: Callable[[], Mapping[str, str]] = dict
_settings: Mapping[str, str] | None = None
_renewals = 0
_file: SourceLocation | None = None


def use_store_settings(spark_conf: Callable[[], Mapping[str, str]], *, file: SourceLocation | None = None) -> None:
    """Takes over where the settings of a session come from, secrets resolved; those of before are forgotten.

    `spark_conf` is called when a store is first reached: a command that reads none needs no secret. `file` is the
    pipeline file in which people write them.
    """
    global _source, _settings, _file
    _source, _settings, _file = spark_conf, None, file


def store_settings() -> Mapping[str, str]:
    """Returns the settings of the clients that are in use, as in `spark_conf`, for a process that reads for this one.

    Raises:
        ConfigError: SECRET_NOT_FOUND.
    """
    global _settings  # noqa: PLW0603
    if _settings is None:
        _settings = _read()
    return _settings


def renew_credentials() -> None:
    """Has the next client read all credentials again, since a store says that they have expired.

    Secrets of the settings are resolved again, unless one cannot be read now. Clients read the files of logins when
    they are made; `client_key` has them made again.
    """
    global _settings, _renewals  # noqa: PLW0603
    _renewals += 1
    with suppress(PenstockError):
        _settings = _read()


def client_key() -> tuple[int, tuple[tuple[str, str], ...]]:
    """Returns the key under which a client is kept: another one with other settings and after `renew_credentials`.

    Raises:
        ConfigError: SECRET_NOT_FOUND.
    """
    return _renewals, tuple(sorted(store_settings().items()))


def _read() -> Mapping[str, str]:
    return {key: value for key, value in _source().items() if key.startswith(_OF_CLIENTS)}


def place_of_setting(key: str) -> SourceLocation | None:
    """Returns the line of the pipeline file with a setting, also with that of one bucket; else the file, if any."""
    if _file is None:
        return None
    name = key.removeprefix(S3A_SETTING)
    with suppress(OSError):
        for number, line in enumerate(Path(_file.path).read_text("utf-8", "replace").splitlines(), 1):
            if line.strip().strip("'\"").startswith(S3A_SETTING) and f".{name}" in line:
                return SourceLocation(_file.path, number)
    return _file
