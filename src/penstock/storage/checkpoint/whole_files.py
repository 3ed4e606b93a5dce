"""Whether each file of a checkpoint holds what Spark writes there, whole."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import (
    EARLIER_PLAN,
    DamagedFile,
    PlannedBatch,
    UnknownVersion,
    parse_commit,
    parse_planned_batch,
    parse_query_id,
    parse_source_log,
    parse_source_step,
)
from penstock.storage.checkpoint.state import parse_operator, parse_state_schema

MOST_BYTES_READ: Final = 16 * 1024 * 1024
"""Of larger files, parts of big state, only the presence and the size are checked."""


def damage_of(folder: CheckpointFolder, name: str) -> str | None:
    """Returns what is wrong with a file of the folder, as the end of "it …"; None for nothing that can be found.

    Raises:
        UnknownVersion: another Spark wrote it.
        ConfigError: STORAGE_NOT_READABLE.
    """
    size = folder.files[name].size
    if size == 0:
        return "is empty"
    parser = next((parser for pattern, parser in _PARSERS if pattern.fullmatch(name)), None)
    if size > MOST_BYTES_READ or (parser is None and name not in folder.checksums):
        return None
    try:
        content = folder.read_unchecked(name)
        if parser is not None:
            parser(content)
        _check_place(folder, name, content)
    except DamagedFile as error:
        return str(error)
    except FileNotFoundError:
        return None  # a run that works meanwhile has tidied it away
    return None if folder.fits_checksum(name, content) else "does not fit its checksum"


def _check_place(folder: CheckpointFolder, name: str, content: bytes) -> None:
    """Raises DamagedFile for a step or a plan that is whole, and is an earlier one."""
    log, _, number = name.removesuffix(".compact").rpartition("/")
    if not number.isdecimal():
        return
    if log.startswith("sources/"):
        parse_source_step(content, int(number))
    elif log == "offsets":
        before: PlannedBatch | None = None
        with suppress(DamagedFile, UnknownVersion, FileNotFoundError):  # which is said of the other file
            before = folder.planned_batch(int(number) - 1)
        if before is not None and parse_planned_batch(content).repeats(before):
            raise DamagedFile(EARLIER_PLAN)


def _check_archive(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            broken = archive.testzip()
    except Exception as error:  # of a damaged archive, zipfile lets out whatever its decompressors and readers raise
        raise DamagedFile("is no whole archive") from error
    if broken is not None:
        raise DamagedFile(f"holds '{broken}' damaged")


_PARSERS: Final[tuple[tuple[re.Pattern[str], Callable[[bytes], object]], ...]] = (
    (re.compile(r"metadata"), parse_query_id),
    (re.compile(r"offsets/\d+"), parse_planned_batch),
    (re.compile(r"commits/\d+"), parse_commit),
    (re.compile(r"sources/[^/]+/\d+(\.compact)?"), parse_source_log),
    (re.compile(r"state/\d+/_metadata/(metadata|v2/\d+)"), parse_operator),
    (re.compile(r"state/\d+/\d+/(.+/)?_metadata/schema"), parse_state_schema),
    (re.compile(r"state/.*\.zip"), _check_archive),
)
