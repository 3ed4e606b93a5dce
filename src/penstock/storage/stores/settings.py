"""The settings of Spark's clients of object stores, under which Penstock itself reaches them as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from penstock.errors import SourceLocation

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
_settings: Callable[[], Mapping[str, str]] = dict
_file: SourceLocation | None = None


def use_store_settings(spark_conf: Callable[[], Mapping[str, str]], *, file: SourceLocation | None = None) -> None:
    """Takes over where the settings of a session come from, secrets resolved; those of before are forgotten.

    `spark_conf` is called when a store is first reached: a command that reads none needs no secret. `file` is the
    pipeline file in which people write them.
    """
    global _settings, _file  # noqa: PLW0603 - one set of settings a process, as Spark has
    _file = file
    _settings = cache(lambda: {key: value for key, value in spark_conf().items() if key.startswith(_OF_CLIENTS)})


def store_settings() -> Mapping[str, str]:
    """Returns the settings of the clients that are in use, as in `spark_conf`, for a process that reads for this one.

    Raises:
        ConfigError: SECRET_NOT_FOUND.
    """
    return _settings()


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
