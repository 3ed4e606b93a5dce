"""Whether the data files that a Delta table's log names are there; without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.errors import PenstockError, StateError
from penstock.storage.delta.table import data_files, open_delta_table, store_root
from penstock.storage.filesystem import Storage
from penstock.storage.local_disk import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

_SAMPLE: Final = 10  # of an object store, where each look is a request


def missing_data_files(table: DeltaTable, uri: str, name: str) -> StateError | None:
    """Returns what is wrong with a table of which data files are missing; None when all are there.

    Called by `penstock doctor`, and by readers after a read has failed.

    Args:
        table: The table, as of the version that is read.
        uri: Where it is. On a disk each of its files is inspected, in an object store the first and last ones.
        name: The table's name, for the error.

    Returns:
        DATA_FILES_MISSING with the first missing file.

    Raises:
        ConfigError, ExternalError: the place cannot be read.
    """
    files, storage = sorted(data_files(table, local_path(uri))), Storage(uri)
    if not storage.is_local and len(files) > _SAMPLE:
        files = files[: _SAMPLE // 2] + files[-_SAMPLE // 2 :]
    missing = [file for file in files if not _exists(storage, file)]
    if not missing:
        return None
    return StateError(
        "DATA_FILES_MISSING",
        dataset=name,
        name=name,
        version=table.version(),
        missing=len(missing),
        total=len(files),
        file=missing[0],
    )


def missing_data_file(path: str, dataset: str | None) -> StateError | None:
    """Returns DATA_FILES_MISSING for a file that Spark did not find, when a Delta table's log names it.

    Args:
        path: The file's path or URI.
        dataset: The dataset whose query reads it, for the error.
    """
    from deltalake.exceptions import DeltaError

    folder = local_path(path)
    while folder := folder.rpartition("/")[0]:
        try:
            if Storage(folder).exists("_delta_log"):
                found = missing_data_files(open_delta_table(folder), folder, folder)
                if found is not None:
                    found.dataset = dataset
                return found
        except (DeltaError, OSError, ValueError, PenstockError):
            return None
    return None


def _exists(storage: Storage, file: str) -> bool:
    here = store_root(file) == store_root(storage.uri)
    return (storage if here else Storage(file)).exists(file)
