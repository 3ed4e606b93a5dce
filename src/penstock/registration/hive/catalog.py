"""Registration in a Hive Metastore, as Spark itself writes the entry of a Delta table at a location."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from penstock.config import HiveMetastore
from penstock.graph.identifier import Identifier
from penstock.registration.catalog import Action, Change
from penstock.registration.entry import (
    INACTIVE,
    PIPELINE,
    STORAGE,
    ColumnAs,
    check_owner,
    column_differences,
    inactive_mark,
    not_reachable,
    not_registered,
    owner_of,
    same_place,
)
from penstock.registration.hive.metastore import Metastore, MetastoreError, printable
from penstock.registration.hive.thrift import ProtocolError, Struct
from penstock.registration.hive.types import hive_columns
from penstock.registration.table import Owner, TableRegistration

_FAILED: Final = "MetaException"
"""Hive's name for whatever it could not do: a folder that it may not write, a database that is away."""
_PROVIDER: Final = "spark.sql.sources.provider"
_COMMENT: Final = "comment"
_PATH: Final = "path"
_OF_SPARK: Final = {
    "spark.sql.sources.schema": '{"type":"struct","fields":[]}',
    "spark.sql.partitionProvider": "catalog",
}
"""Spark leaves the columns of a Delta table to the table's own log."""
_RESERVED: Final = ("comment", "external", "transactional", "external.table.purge", "spark.sql.")
"""Beginnings of the names of parameters with a meaning to Hive or Spark; properties of that name stay in the table."""

# Fields of Thrift's structs Table, StorageDescriptor and SerDeInfo.
_OWNER, _SD, _PARAMETERS, _TYPE = 3, 7, 9, 12
_COLUMNS, _LOCATION, _SERDE = 1, 2, 7
_SERDE_PARAMETERS = 3


class HiveCatalog:
    """A metastore in which tables are registered; see `Catalog`."""

    def __init__(self, settings: HiveMetastore, own_catalog: str | None) -> None:
        self._settings = settings
        self._own_catalog = own_catalog

    @property
    def name(self) -> str:
        """Its name in the pipeline file."""
        return self._settings.name

    @property
    def uri(self) -> str:
        """Its address."""
        return self._settings.uri

    def name_of(self, identifier: Identifier) -> str:
        """Returns `database.table`, in lower case as Hive has it."""
        return ".".join(self._name(identifier))

    @contextmanager
    def connect(self) -> Iterator[_HiveSession]:
        """Opens a connection; what ends it, within the block too, is CATALOG_NOT_REACHABLE."""
        try:
            with Metastore(self._settings.servers) as metastore:
                yield _HiveSession(metastore, self.name, self._name)
        except (OSError, ProtocolError) as failure:
            raise not_reachable(self.name, self._settings.uri, failure) from failure

    def _name(self, identifier: Identifier) -> tuple[str, str]:
        database = self._settings.schema_of(identifier.schema, identifier.catalog or self._own_catalog)
        return database, identifier.name.lower()


class _HiveSession:
    """See `Session`."""

    def __init__(self, metastore: Metastore, catalog: str, name_of: Any) -> None:
        self._metastore = metastore
        self._catalog = catalog
        self._name = name_of
        self._databases: dict[str, str | None] = {}

    def register(self, table: TableRegistration) -> Change | None:
        with self._refusals(table.identifier):
            try:
                return self._register(table)
            except MetastoreError as refused:
                if refused.kind != "AlreadyExistsException":
                    raise
                return self._register(table)  # another program was quicker, or the last request of a killed run

    def _register(self, table: TableRegistration) -> Change | None:
        database, name = self._name(table.identifier)
        existing = self._metastore.table(database, name)
        if existing is None:
            self._metastore.create_table(self._new(table, database, name))
            return Change(Action.CREATED)
        self._check_owner(table, existing)
        wanted = _corrected(existing, table)
        found = _differences(existing, wanted)
        if not found:
            return None
        self._replace(database, name, wanted)
        return Change(Action.UPDATED, found)

    def differences(self, table: TableRegistration) -> tuple[str, ...]:
        database, name = self._name(table.identifier)
        with self._refusals(table.identifier):
            existing = self._metastore.table(database, name)
            if existing is None:
                return ("there is no such table",)
            self._check_owner(table, existing)
            return _differences(existing, _corrected(existing, table))

    def deactivate(self, identifier: Identifier, owner: Owner) -> Change | None:
        database, name = self._name(identifier)
        with self._refusals(identifier):
            existing = self._metastore.table(database, name)
            if existing is None or _owner(existing) != owner or INACTIVE in existing.get(_PARAMETERS, {}):
                return None
            inactive = copy.deepcopy(existing)
            inactive[_PARAMETERS].update(inactive_mark())
            self._metastore.alter_table(database, name, inactive)
            return Change(Action.DEACTIVATED)

    def remove(self, identifier: Identifier, owner: Owner) -> bool:
        database, name = self._name(identifier)
        with self._refusals(identifier):
            existing = self._metastore.table(database, name)
            if existing is None or _owner(existing) != owner:
                return False
            self._metastore.drop_table(database, name)
            return True

    def _new(self, table: TableRegistration, database: str, name: str) -> Struct:
        serde = {
            1: None,
            2: "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
            3: {"serialization.format": "1"},
        }
        place = self._place(database)
        storage = Struct(
            {
                1: [],
                2: None if place is None else f"{place}/{name}-__PLACEHOLDER__",
                3: "org.apache.hadoop.mapred.SequenceFileInputFormat",
                4: "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
                5: False,
                6: -1,
                7: Struct(serde),
                8: [],
                9: [],
                10: {},
            }
        )
        made = {1: name, 2: database, _OWNER: table.owner.pipeline, 4: int(time.time()), 5: 0, 6: 0, _SD: storage}
        return _corrected(Struct({**made, 8: [], _PARAMETERS: dict(_OF_SPARK), _TYPE: "EXTERNAL_TABLE"}), table)

    def _place(self, database: str) -> str | None:
        """Creates the database if there is none; returns its folder."""
        if database not in self._databases:
            found = self._metastore.database(database)
            if found is None:
                self._metastore.create_database(database, "Tables of Penstock")
                found = self._metastore.database(database)
            self._databases[database] = None if found is None else found.get(3)
        return self._databases[database]

    def _replace(self, database: str, name: str, table: Struct) -> None:
        try:
            self._metastore.alter_table(database, name, table)
        except MetastoreError as refused:
            if refused.kind != "InvalidOperationException":
                raise
            # Hive alters no column to another kind of type, but it has none to compare in an entry without columns.
            bare = copy.deepcopy(table)
            bare[_SD][_COLUMNS] = []
            self._metastore.alter_table(database, name, bare)
            self._metastore.alter_table(database, name, table)

    def _check_owner(self, table: TableRegistration, existing: Struct) -> None:
        place = _location(existing)
        check_owner(
            table.identifier,
            table.owner,
            table.location,
            catalog=self._catalog,
            table=".".join(self._name(table.identifier)),
            properties={name: printable(text) for name, text in (existing.get(_PARAMETERS) or {}).items()},
            location=place and printable(place),
        )

    @contextmanager
    def _refusals(self, identifier: Identifier) -> Iterator[None]:
        try:
            yield
        except MetastoreError as refused:
            table = ".".join(self._name(identifier))
            passing = refused.kind == _FAILED
            raise not_registered(identifier, self._catalog, table, refused.kind, refused, passing=passing) from refused


def _uri(location: str) -> str:
    """Returns a path as Hadoop spells it, so that readers with another default file system find it."""
    return f"file:{location}" if location.startswith("/") else location


def _owner(table: Struct) -> Owner | None:
    return owner_of(table.get(_PARAMETERS) or {})


def _location(table: Struct) -> str | None:
    storage = table.get(_SD) or {}
    path = ((storage.get(_SERDE) or {}).get(_SERDE_PARAMETERS) or {}).get(_PATH)
    return path or storage.get(_LOCATION)


def _corrected(existing: Struct, table: TableRegistration) -> Struct:
    """Returns the entry with all that registration decides; what else stands in it stays."""
    made = copy.deepcopy(existing)
    parameters, storage = made.setdefault(_PARAMETERS, {}), made.setdefault(_SD, Struct())
    parameters.update({name: text for name, text in table.properties.items() if not name.lower().startswith(_RESERVED)})
    parameters.update({PIPELINE: table.owner.pipeline, STORAGE: table.owner.storage, _PROVIDER: "delta"})
    parameters["EXTERNAL"] = "TRUE"
    parameters.pop(INACTIVE, None)
    parameters.pop(_COMMENT, None)
    if table.comment:
        parameters[_COMMENT] = table.comment
    made[_TYPE] = "EXTERNAL_TABLE"
    storage[_COLUMNS] = hive_columns(table.schema.columns)
    serde = storage.setdefault(_SERDE, Struct()).setdefault(_SERDE_PARAMETERS, {})
    if not same_place(serde.get(_PATH), table.location):
        serde[_PATH] = _uri(table.location)
    return made


def _differences(existing: Struct, wanted: Struct) -> tuple[str, ...]:
    """Returns in words what the entry has otherwise than it should."""
    found = []
    if _location(existing) != _location(wanted):
        found.append(f"location {_location(existing)}")
    before, after = _columns(existing), _columns(wanted)
    found += column_differences(before, after)
    if not found and list(before) != list(after):
        found.append("other order of columns")
    old, new = existing.get(_PARAMETERS) or {}, wanted[_PARAMETERS]
    found += [f"{name}={old.get(name)}" for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    if existing.get(_TYPE) != wanted[_TYPE]:
        found.append(f"type {existing.get(_TYPE)}")
    return tuple(map(printable, found))


def _columns(table: Struct) -> dict[Any, ColumnAs]:
    columns = (table.get(_SD) or {}).get(_COLUMNS) or []
    return {column.get(1): (column.get(2), column.get(3) or None) for column in columns}
