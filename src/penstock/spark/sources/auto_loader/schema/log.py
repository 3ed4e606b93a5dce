"""The numbered schema versions of one source: `<schema location>/_schemas/<N>`, JSON that a person can read."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql.types import StructType

from penstock.errors import StateError
from penstock.spark.sources.auto_loader.schema.other_types import OtherTypes
from penstock.storage import Storage

_OTHER_TYPES: Final = "_other_types"


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """What is known about the files of one source.

    `columns` are the data columns without partition columns and without the rescued data column;
    `partitions` those that come from the path. `json_arrays`: records also come as JSON arrays.
    `csv_headers`: the headers seen, the one in use last; `csv_by_file`: files of several layouts
    are mixed, so each is read by its own header. `rescued`: columns that files have and that go to the
    rescued data; one that `columns` has too holds further fields inside. `others`: columns of files whose type
    does not fit, kept apart. `number` 0 is a schema that is not stored (the user's own).
    """

    number: int
    columns: StructType
    partitions: StructType
    reason: str
    json_arrays: bool = False
    csv_headers: tuple[tuple[str, ...], ...] = ()
    csv_by_file: bool = False
    rescued: StructType = StructType()  # noqa: RUF009 - never changed
    others: OtherTypes = OtherTypes()  # noqa: RUF009 - never changed

    def read_columns(self) -> StructType:
        """Returns the columns as which files are read: those of the table, and what goes to the rescued data."""
        larger = {field.name: field for field in self.rescued.fields}
        columns = [larger.pop(field.name, field) for field in self.columns.fields]
        return StructType([*columns, *larger.values()])

    def followed_by(self, reason: str, **changes: Any) -> SchemaVersion:
        """Returns the next version with `changes`."""
        return replace(self, number=self.number + 1, reason=reason, **changes)

    def to_text(self) -> str:
        """Returns the stored form."""
        document = {
            "version": self.number,
            "reason": self.reason,
            "columns": [f"{field.name}: {field.dataType.simpleString()}" for field in self.columns],
            "schema": self.columns.jsonValue(),
            "partitions": self.partitions.jsonValue(),
            "json_arrays": self.json_arrays,
            "csv_headers": [list(header) for header in self.csv_headers],
            "csv_by_file": self.csv_by_file,
            "parquet_rescued": self.rescued.jsonValue(),  # the name that all versions of Penstock read
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> SchemaVersion:
        """Reads the stored form; ValueError or KeyError when it is not one."""
        document = json.loads(text)
        return cls(
            number=int(document["version"]),
            reason=str(document["reason"]),
            columns=StructType.fromJson(document["schema"]),
            partitions=StructType.fromJson(document["partitions"]),
            json_arrays=bool(document["json_arrays"]),
            csv_headers=tuple(tuple(header) for header in document["csv_headers"]),
            csv_by_file=bool(document["csv_by_file"]),
            rescued=StructType.fromJson(document["parquet_rescued"]),
        )


class SchemaLog:
    """The schema versions under one location; reading never creates anything."""

    def __init__(self, location: str) -> None:
        self.location = location.rstrip("/")
        self._storage = Storage(self.location)

    def latest(self) -> SchemaVersion | None:
        """Returns the newest version, None when none was written.

        Raises:
            StateError: AUTO_LOADER_SCHEMA_UNREADABLE.
        """
        numbers = [int(file.name) for file in self._storage.list("_schemas") if file.name.isdecimal()]
        if not numbers:
            return None
        path = f"_schemas/{max(numbers)}"
        try:
            version = SchemaVersion.from_text(self._storage.read_text(path))
        except (ValueError, KeyError, TypeError) as error:
            raise self._unreadable(path, error) from error
        return replace(version, others=self.others())

    def others(self) -> OtherTypes:
        """Returns which columns of which files have other types; they are not in the versions, which stay small.

        Raises:
            StateError: AUTO_LOADER_SCHEMA_UNREADABLE.
        """
        if not self._storage.exists(_OTHER_TYPES):
            return OtherTypes()
        try:
            return OtherTypes.from_text(self._storage.read_text(_OTHER_TYPES))
        except (ValueError, KeyError, TypeError) as error:
            raise self._unreadable(_OTHER_TYPES, error) from error

    def write_others(self, others: OtherTypes) -> None:
        """Stores which columns of which files have other types."""
        self._storage.write_text_atomic(_OTHER_TYPES, others.to_text())

    def write(self, version: SchemaVersion) -> None:
        """Stores a version; a process that dies meanwhile leaves the previous one in force."""
        self._storage.write_text_atomic(f"_schemas/{version.number}", version.to_text())

    def read_paths(self, name: str) -> frozenset[str] | None:
        """Returns a stored set of file paths, None when it was never written."""
        if not self._storage.exists(name):
            return None
        return frozenset(self._storage.read_text(name).splitlines())

    def write_paths(self, name: str, paths: frozenset[str]) -> None:
        """Stores a set of file paths, one a line."""
        self._storage.write_text_atomic(name, "".join(f"{path}\n" for path in sorted(paths)))

    def _unreadable(self, path: str, error: Exception) -> StateError:
        detail = f"{type(error).__name__}: {error}"
        return StateError("AUTO_LOADER_SCHEMA_UNREADABLE", path=self._storage.resolve(path), detail=detail)
