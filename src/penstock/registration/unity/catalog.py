"""Registration in Unity Catalog: an external Delta table, changed by one request on the state that was read."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from penstock.config import UnityCatalogServer
from penstock.errors import ConfigError
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
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
from penstock.registration.table import Owner, TableRegistration
from penstock.registration.unity.client import Document, NotUnityError, Unity, UnityError
from penstock.registration.unity.types import columns_for_api, columns_of_api

_COMMENT: Final = "comment"
"""The API does not show a table's comment; the property of that name does."""
_CHANGED_MEANWHILE: Final = {"UpdateRequirementConflictException", "AlreadyExistsException"}
"""Somebody else has changed or made the entry since it was read."""
_ATTEMPTS: Final = 3


class UnityCatalog:
    """A server in which tables are registered; see `Catalog`."""

    def __init__(self, settings: UnityCatalogServer, own_catalog: str | None) -> None:
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
        """Returns `catalog.schema.table`, in lower case as Unity Catalog has it."""
        return ".".join(self._name(identifier))

    @contextmanager
    def connect(self) -> Iterator[_UnitySession]:
        """Opens a connection, with the token as it is now; what ends it, within the block too, is a condition."""
        settings = self._settings
        try:
            token = None if settings.token is None else settings.token.resolve()
            with Unity(settings.uri, token, settings.ca_file) as client:
                yield _UnitySession(client, self.name, self._name)
        except (OSError, http.client.HTTPException, NotUnityError, ConfigError) as failure:
            raise not_reachable(self.name, settings.uri, failure) from failure

    def _name(self, identifier: Identifier) -> tuple[str, str, str]:
        catalog, schema = self._settings.place_of(identifier.schema, identifier.catalog or self._own_catalog)
        return catalog, schema, identifier.name.lower()


class _UnitySession:
    """See `Session`."""

    def __init__(self, client: Unity, catalog: str, name_of: Callable[[Identifier], tuple[str, str, str]]) -> None:
        self._client = client
        self._catalog = catalog
        self._name = name_of

    def register(self, table: TableRegistration) -> Change | None:
        for attempt in range(1, _ATTEMPTS + 1):
            with self._refusals(table.identifier):
                try:
                    return self._register(table)
                except UnityError as refused:
                    if refused.kind not in _CHANGED_MEANWHILE or attempt == _ATTEMPTS:
                        raise
        raise AssertionError

    def _register(self, table: TableRegistration) -> Change | None:
        catalog, schema, name = self._name(table.identifier)
        existing = self._client.table(catalog, schema, name)
        if existing is None:
            self._create(table, catalog, schema, name)
            return Change(Action.CREATED)
        self._check_owner(table, existing)
        found = _differences(existing, table)
        if not found:
            return None
        if same_place(existing.get("location"), table.location):
            self._client.update_table(catalog, schema, name, _corrections(existing, table))
        else:  # no request moves a table
            self._client.delete_table(catalog, schema, name)
            self._create(table, catalog, schema, name)
        return Change(Action.UPDATED, found)

    def differences(self, table: TableRegistration) -> tuple[str, ...]:
        with self._refusals(table.identifier):
            existing = self._client.table(*self._name(table.identifier))
            if existing is None:
                return ("there is no such table",)
            self._check_owner(table, existing)
            return _differences(existing, table)

    def deactivate(self, identifier: Identifier, owner: Owner) -> Change | None:
        with self._refusals(identifier):
            catalog, schema, name = self._name(identifier)
            existing = self._client.table(catalog, schema, name)
            if existing is None or owner_of(existing["properties"]) != owner or INACTIVE in existing["properties"]:
                return None
            update = {"action": "set-properties", "updates": inactive_mark()}
            self._client.update_table(catalog, schema, name, _request(existing, [update]))
            return Change(Action.DEACTIVATED)

    def remove(self, identifier: Identifier, owner: Owner) -> bool:
        with self._refusals(identifier):
            existing = self._client.table(*self._name(identifier))
            if existing is None or owner_of(existing["properties"]) != owner:
                return False
            self._client.delete_table(*self._name(identifier))
            return True

    def _create(self, table: TableRegistration, catalog: str, schema: str, name: str) -> None:
        request = {
            "name": name,
            "location": _uri(table.location),
            "table-type": "EXTERNAL",
            "comment": table.comment,
            "columns": columns_for_api(table.schema),
            "partition-columns": list(table.partition_columns),
            "protocol": {key.replace("_", "-"): value for key, value in table.protocol.items() if value is not None},
            "properties": _properties(table),
            "last-commit-timestamp-ms": table.created,
        }
        made = {key: value for key, value in request.items() if value is not None}
        try:
            self._client.create_table(catalog, schema, made)
        except UnityError as refused:
            if refused.kind != "NoSuchSchemaException":
                raise
            self._client.create_schema(catalog, schema, "Tables of Penstock")
            self._client.create_table(catalog, schema, made)

    def _check_owner(self, table: TableRegistration, existing: Document) -> None:
        check_owner(
            table.identifier,
            table.owner,
            table.location,
            catalog=self._catalog,
            table=".".join(self._name(table.identifier)),
            properties=existing["properties"],
            location=existing.get("location"),
        )

    @contextmanager
    def _refusals(self, identifier: Identifier) -> Iterator[None]:
        try:
            yield
        except UnityError as refused:
            table = ".".join(self._name(identifier))
            passing = refused.kind in _CHANGED_MEANWHILE
            raise not_registered(identifier, self._catalog, table, refused.kind, refused, passing=passing) from refused


def _uri(location: str) -> str:
    return f"file://{location}" if location.startswith("/") else location


def _properties(table: TableRegistration) -> dict[str, str]:
    marks = {PIPELINE: table.owner.pipeline, STORAGE: table.owner.storage}
    return {**table.properties, **({_COMMENT: table.comment} if table.comment else {}), **marks}


def _columns(existing: Document) -> dict[str, ColumnAs]:
    try:
        return _compared(columns_of_api(existing["columns"]))
    except (KeyError, TypeError, AttributeError) as odd:
        raise NotUnityError("its answer has columns of another form") from odd


def _compared(schema: Schema) -> dict[str, ColumnAs]:
    return {each.name: (each.type, each.comment or None, each.nullable) for each in schema.columns}


def _differences(existing: Document, table: TableRegistration) -> tuple[str, ...]:
    """Returns in words what the entry has otherwise than it should."""
    found = []
    if not same_place(existing.get("location"), table.location):
        found.append(f"location {existing.get('location')}")
    before, after = _columns(existing), _compared(table.schema)
    found += column_differences(before, after)
    if not found and list(before) != list(after):
        found.append("other order of columns")
    old, new = existing["properties"], _properties(table)
    found += [f"{name}={old.get(name)}" for name in sorted(new) if old.get(name) != new[name]]
    found += [f"{name}={old[name]}" for name in _removed(existing, table)]
    return tuple(found)


def _removed(existing: Document, table: TableRegistration) -> list[str]:
    """Returns the properties that registration itself has set, and that hold no longer."""
    gone = [INACTIVE] if table.comment else [INACTIVE, _COMMENT]
    return [name for name in gone if name in existing["properties"] and name not in table.properties]


def _corrections(existing: Document, table: TableRegistration) -> Document:
    old, new = existing["properties"], _properties(table)
    updates: list[Document] = []
    if list(_columns(existing).items()) != list(_compared(table.schema).items()):
        updates.append({"action": "set-columns", "columns": columns_for_api(table.schema)})
    if changed := {name: text for name, text in new.items() if old.get(name) != text}:
        updates.append({"action": "set-properties", "updates": changed})
    if removed := _removed(existing, table):
        updates.append({"action": "remove-properties", "removals": removed})
    if old.get(_COMMENT) != new.get(_COMMENT):
        updates.append({"action": "set-table-comment", "comment": table.comment or ""})
    return _request(existing, updates)


def _request(existing: Document, updates: list[Document]) -> Document:
    requirements = [
        {"type": "assert-table-uuid", "uuid": existing["table-uuid"]},
        {"type": "assert-etag", "etag": existing["etag"]},
    ]
    return {"requirements": requirements, "updates": updates}
