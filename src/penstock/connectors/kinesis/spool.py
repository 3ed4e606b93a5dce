"""Files with what was fetched for a batch, so that its tasks need not ask Kinesis for the same records again.

Only a cache, on the driver's machine: a task that does not find its file, as on another machine or after a restart,
reads its records from Kinesis.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pyarrow as pa

from penstock.connectors.kinesis.records import ARROW_SCHEMA

_PREFIX: Final = "penstock-kinesis-"


@dataclass(slots=True)
class SpoolFile:
    """The records of one shard for one batch, as an Arrow stream; without `path` nothing is kept of them."""

    path: Path | None
    _file: pa.OSFile | None = None
    _writer: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Appends records. A disk that takes no more is no error: the file is left out."""
        if self.path is None:
            return
        try:
            if self._writer is None:
                self._file = pa.OSFile(str(self.path), "wb")
                self._writer = pa.ipc.new_stream(self._file, ARROW_SCHEMA)
            self._writer.write_batch(batch)
        except OSError:
            self.drop()

    def close(self) -> None:
        """Ends the file."""
        try:
            if self._writer is not None and self._file is not None:
                self._writer.close()
                self._file.close()
        except OSError:
            self.drop()

    def drop(self) -> None:
        """Deletes the file."""
        path, self.path = self.path, None
        if path is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)


class Spool:
    """The files of one reader, in a folder that only its user can read.

    It lies where Spark has its own temporary files, and goes with them: at the end, Spark may kill this process.
    """

    def __init__(self) -> None:
        of_spark = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
        place = Path(of_spark if os.path.isdir(of_spark) else tempfile.gettempdir())
        _remove_left_over(place)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
        self._count = 0

    def new_file(self) -> SpoolFile:
        """Returns a file to be filled; called by one thread at a time."""
        self._count += 1
        return SpoolFile(self._folder / f"{self._count}.arrow")

    def close(self) -> None:
        """Deletes all files."""
        shutil.rmtree(self._folder, ignore_errors=True)


def spooled(path: str | None) -> Iterator[pa.RecordBatch] | None:
    """Returns the records of a file, None when it is not there."""
    if path is None or not os.path.exists(path):
        return None
    return _batches(path)


def _batches(path: str) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(path) as source, pa.ipc.open_stream(source) as reader:
        yield from reader


def _remove_left_over(place: Path) -> None:
    """Deletes the folders of processes that are gone: of earlier sessions too, each of which has a place of its own."""
    for folder in (*place.glob(f"{_PREFIX}*"), *place.parent.glob(f"*/{_PREFIX}*")):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
