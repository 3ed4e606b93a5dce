"""`cloudFiles.cleanSource`: what becomes of files whose rows are in the table, as the options ask for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from pyspark.sql import SparkSession

from penstock.errors import DefinitionError
from penstock.spark._jvm import path_exists
from penstock.spark.sources.auto_loader.options.names import invalid
from penstock.spark.sources.stream_read import StreamRead
from penstock.storage import local_path

CLEAN_SOURCE: Final = "cloudFiles.cleanSource"
RETENTION: Final = "cloudFiles.cleanSource.retentionDuration"
DESTINATION: Final = "cloudFiles.cleanSource.moveDestination"

SINK_LOG: Final = "_spark_metadata"

_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_678_400}
_PART: Final = re.compile(r"\s*(\d+)\s*(second|minute|hour|day|week|month)s?\s*,?", re.IGNORECASE)
_DEFAULT_DAYS: Final = 30
_LEAST_DAYS_TO_DELETE: Final = 7
_GLOB: Final = re.compile(r"[*?{\[]")


class CleanMode(Enum):
    """What is done with a file; without one of these it stays."""

    DELETE = "DELETE"
    MOVE = "MOVE"


@dataclass(frozen=True, slots=True)
class CleanSource:
    """Which files of `base` go `retention` seconds after their rows were committed: to `destination`, or for good."""

    mode: CleanMode
    base: str
    retention: int
    destination: str | None = None


def parse_clean_source(read: StreamRead, path: str) -> CleanSource | None:
    """Returns what the options of a cloudFiles read ask for, None when files stay.

    Raises:
        DefinitionError: AUTO_LOADER_INVALID_OPTION, AUTO_LOADER_MISSING_OPTION.
    """
    value = (read.option(CLEAN_SOURCE) or "OFF").strip()
    if value.upper() == "OFF":
        return None
    if value.upper() not in CleanMode.__members__:
        raise invalid(CLEAN_SOURCE, value, "OFF, DELETE or MOVE")
    mode, base = CleanMode(value.upper()), base_folder(path)
    retention = _retention(read, mode)
    if mode is CleanMode.DELETE:
        return CleanSource(mode, base, retention)
    given = read.option(DESTINATION)
    if not given:
        raise DefinitionError(
            "AUTO_LOADER_MISSING_OPTION", option=DESTINATION, example=f".option('{DESTINATION}', 'path/of/the/archive')"
        )
    destination = _absolute(given)
    if f"{destination}/".startswith(f"{base}/"):
        raise invalid(DESTINATION, given, f"a folder outside of '{base}', from which files are read")
    if _scheme(destination) != _scheme(base):
        raise invalid(DESTINATION, given, "a folder of the file system from which files are read")
    return CleanSource(mode, base, retention, destination)


def check_no_sink_log(spark: SparkSession, options: CleanSource, path: str) -> None:
    """Refuses to clean what a file sink of Spark writes: its log names the files, for every reader of the folder.

    Raises:
        DefinitionError: AUTO_LOADER_UNSUPPORTED_OPTION.
    """
    if path_exists(spark, f"{options.base}/{SINK_LOG}"):
        reason = f"a file sink of Spark writes '{path}', and its log {SINK_LOG} names the files: whoever reads the "
        reason += "folder would fail on those that are gone"
        raise DefinitionError(
            "AUTO_LOADER_UNSUPPORTED_OPTION", option=CLEAN_SOURCE, value=options.mode.value, reason=reason
        )


def with_destination(read: StreamRead, place: Callable[[str], str]) -> StreamRead:
    """Returns `read` with the folder to which its files are moved where `place` says that it is."""
    given = read.option(DESTINATION)
    if given is None:
        return read
    others = {name: value for name, value in read.options.items() if name.casefold() != DESTINATION.casefold()}
    return replace(read, options={**others, DESTINATION: place(given)})


def without_cleaning(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the options of a read that leaves its files as they are."""
    return {name: value for name, value in options.items() if not name.casefold().startswith(CLEAN_SOURCE.casefold())}


def parse_duration(text: str) -> int | None:
    """Returns the seconds that `30 days` or `interval 1 week 12 hours` mean, None when it is no duration."""
    rest = text.strip()
    if rest.casefold().startswith("interval "):
        rest = rest[len("interval ") :]
    seconds, position = 0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            return None
        seconds += int(part.group(1)) * _SECONDS[part.group(2).lower()]
        position = part.end()
    return seconds if position else None


def _retention(read: StreamRead, mode: CleanMode) -> int:
    text = read.option(RETENTION) or f"{_DEFAULT_DAYS} days"
    seconds = parse_duration(text)
    if seconds is None:
        raise invalid(RETENTION, text, "a duration such as '14 days'")
    if mode is CleanMode.DELETE and seconds < _LEAST_DAYS_TO_DELETE * _SECONDS["day"]:
        raise invalid(RETENTION, text, f"at least '{_LEAST_DAYS_TO_DELETE} days' where files are deleted")
    return seconds


def base_folder(path: str) -> str:
    """The folder below which a path with globs finds files."""
    found = _GLOB.search(path)
    return _absolute(path if found is None else path[: found.start()].rpartition("/")[0])


def _absolute(path: str) -> str:
    local = local_path(path)
    return local.rstrip("/") if "://" in local else os.path.abspath(local)


def _scheme(path: str) -> str:
    return path.partition("://")[0] if "://" in path else "file"
