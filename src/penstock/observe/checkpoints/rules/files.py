"""Each file holds what Spark writes there, whole."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Final

from penstock.errors import StateError
from penstock.observe.checkpoints.inventory import StoredCheckpoint
from penstock.storage.checkpoint import (
    CheckpointFolder,
    DamagedFile,
    UnknownVersion,
    parse_commit,
    parse_operator,
    parse_planned_batch,
    parse_query_id,
    parse_source_log,
)

MOST_BYTES_READ: Final = 16 * 1024 * 1024
"""Of larger files, parts of big state, only the presence and the size are looked at."""


def check(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_DAMAGED and CHECKPOINT_VERSION_UNKNOWN."""
    for name, file in checkpoint.folder.files.items():
        try:
            reason = "is empty" if file.size == 0 else _damage(checkpoint.folder, name, file.size)
        except UnknownVersion as error:
            yield checkpoint.refusal("CHECKPOINT_VERSION_UNKNOWN", file=file.uri, version=error)
            continue
        if reason is not None:
            yield checkpoint.refusal("CHECKPOINT_FILE_DAMAGED", file=file.uri, reason=reason)


def _damage(folder: CheckpointFolder, name: str, size: int) -> str | None:
    """Returns what is wrong with a file, as the end of "it …"."""
    parser = next((parser for pattern, parser in _PARSERS if pattern.fullmatch(name)), None)
    if size > MOST_BYTES_READ or (parser is None and name not in folder.checksums):
        return None
    try:
        content = folder.read_unchecked(name)
        if parser is not None:
            parser(content)
    except DamagedFile as error:
        return str(error)
    except FileNotFoundError:
        return None  # a run that works meanwhile has tidied it away
    return None if folder.fits_checksum(name, content) else "does not fit its checksum"


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
    (re.compile(r"state/.*\.zip"), _check_archive),
)
