"""What the log of each stored Delta table says of its files, its protocol and its properties; starts no JVM."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import parse_interval
from penstock.errors import ConfigError, PenstockError, StateError, first_line
from penstock.observe.stored.tables import StoredTable
from penstock.storage.delta.data_files import missing_data_files
from penstock.storage.delta.table import open_delta_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

SMALL_FILE: Final = 32_000_000
"""A file below this many bytes is small: OPTIMIZE makes files of up to 1 GB."""

_OF_QUERY_ENGINE: Final = {"columnMapping", "deletionVectors"}
_DAY: Final = 86_400.0
_DELETED_FILES: Final = 7 * _DAY
_LOG: Final = 30 * _DAY


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One stored table as its log has it.

    Attributes:
        table: its name and place.
        error: TABLE_NOT_READABLE, DATA_FILES_MISSING or what a store refuses; the rest is unknown then.
        version: its newest version.
        created: seconds since 1970.
        files: how many data files it has.
        bytes: their size.
        small_files: how many of them are small and share their partition with another small file.
        file_retention: how many seconds VACUUM spares files that the newest version does not need.
        log_retention: how many seconds commits stay in the log.
        reader_features: the reader features that the table needs and that delta-rs lacks.
    """

    table: StoredTable
    error: PenstockError | None = None
    version: int = 0
    created: float = 0.0
    files: int = 0
    bytes: int = 0
    small_files: int = 0
    file_retention: float = _DELETED_FILES
    log_retention: float = _LOG
    reader_features: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`schema.name`."""
        return str(self.table.identifier)


def read_table_facts(table: StoredTable, opened: DeltaTable | None = None) -> TableFacts:
    """Reads the log of a table and looks whether its files are there; what is wrong becomes `error`.

    `opened` is the table if it is open already.
    """
    from deltalake.exceptions import DeltaError

    name = str(table.identifier)
    try:
        opened = opened or open_delta_table(table.uri)
        missing = missing_data_files(opened, table.uri, name)
        return TableFacts(table, missing) if missing is not None else _facts(table, opened)
    except PenstockError as refused:
        return TableFacts(table, refused)
    except (DeltaError, OSError, ValueError) as damage:
        reason = first_line(damage)
        return TableFacts(table, StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=reason))


def _facts(table: StoredTable, opened: DeltaTable) -> TableFacts:
    actions, metadata = opened.get_add_actions(), opened.metadata()
    paths = [str(path) for path in actions.column("path").to_pylist()]
    sizes = [int(size) for size in actions.column("size_bytes").to_pylist()]
    partitions = Counter(path.rpartition("/")[0] for path, size in zip(paths, sizes, strict=True) if size < SMALL_FILE)
    properties = {key.casefold(): str(value) for key, value in metadata.configuration.items()}
    return TableFacts(
        table,
        version=opened.version(),
        created=(metadata.created_time or 0) / 1000,
        files=len(sizes),
        bytes=sum(sizes),
        small_files=sum(files for files in partitions.values() if files > 1),
        file_retention=_interval(properties.get("delta.deletedfileretentionduration"), _DELETED_FILES),
        log_retention=_interval(properties.get("delta.logretentionduration"), _LOG),
        reader_features=_rare_features(opened),
    )


def _rare_features(opened: DeltaTable) -> tuple[str, ...]:
    """Returns the reader features that delta-rs does not know, as far as its query engine and its plain reader go."""
    from deltalake.table import SUPPORTED_READER_FEATURES

    needed = set(opened.protocol().reader_features or ())
    return tuple(sorted(needed - SUPPORTED_READER_FEATURES - _OF_QUERY_ENGINE))


def _interval(text: str | None, otherwise: float) -> float:
    try:
        return otherwise if text is None else parse_interval(text)
    except ConfigError:
        return otherwise
