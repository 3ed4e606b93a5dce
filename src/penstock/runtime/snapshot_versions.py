"""Which snapshots a flow has taken: the version of each, kept beside the table."""

from __future__ import annotations

import datetime
import decimal
import json
from dataclasses import dataclass
from typing import Any

from penstock.storage import Storage


@dataclass(frozen=True, slots=True)
class SnapshotVersions:
    """A folder with one small file for each snapshot: its number among the flow's snapshots, and its version.

    The file is written before the table; whether the table has the snapshot is known from the table's own
    transactions. So the version of a snapshot that was interrupted is simply written again.
    """

    storage: Storage
    folder: str

    def write(self, number: int, version: Any) -> None:
        """Notes the version of the snapshot that is going to be applied."""
        self.storage.write_text_atomic(f"{self.folder}/{number}.json", json.dumps(_encode(version)))

    def read(self, number: int) -> Any:
        """Returns the version of an applied snapshot, of the type that it had."""
        return _decode(json.loads(self.storage.read_text(f"{self.folder}/{number}.json")))


def _encode(version: Any) -> dict[str, Any]:
    match version:
        case datetime.datetime():
            return {"timestamp": version.isoformat()}
        case datetime.date():
            return {"date": version.isoformat()}
        case decimal.Decimal():
            return {"decimal": str(version)}
        case bytes():
            return {"bytes": version.hex()}
        case _:
            return {"value": version}


def _decode(document: dict[str, Any]) -> Any:
    [(kind, value)] = document.items()
    match kind:
        case "timestamp":
            return datetime.datetime.fromisoformat(value)
        case "date":
            return datetime.date.fromisoformat(value)
        case "decimal":
            return decimal.Decimal(value)
        case "bytes":
            return bytes.fromhex(value)
        case _:
            return value
