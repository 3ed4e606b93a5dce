"""When each table of a storage was last maintained; one small file that only the holder of the lock writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.storage.filesystem import Storage
from penstock.storage.layout import StorageLayout


@dataclass(frozen=True, slots=True)
class MaintenanceRecord:
    """A table was maintained at the time `at`, and was in `version` afterwards.

    `changed` is the last time at which it was found in another version than the time before, so that files which no
    version needs can have come about until then. Times are seconds since 1970.
    """

    at: float
    version: int
    changed: float


def read_maintenance(layout: StorageLayout) -> dict[str, MaintenanceRecord]:
    """Returns the records by the tables' full names in lower case; none when the file is missing or damaged.

    Without its record a table is maintained once too often, which does no harm.
    """
    try:
        document = json.loads(Storage(layout.uri).read_text(layout.maintenance))
        return {str(name): MaintenanceRecord(**record) for name, record in document.items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def write_maintenance(layout: StorageLayout, records: Mapping[str, MaintenanceRecord]) -> None:
    """Replaces the records."""
    text = json.dumps({name: asdict(record) for name, record in sorted(records.items())}, indent=1)
    Storage(layout.uri).write_text_atomic(layout.maintenance, text)
