"""What is registered of a table: computed from its own log, so that it is what readers find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.graph.identifier import Identifier
from penstock.graph.protection import is_restricted
from penstock.graph.schema.table_schema import Schema
from penstock.storage.delta.table import open_delta_table, readable

_OWN = "penstock."


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose tables they are: a pipeline on a storage. Two storages of one pipeline do not share a table."""

    pipeline: str
    storage: str


@dataclass(frozen=True, slots=True)
class TableRegistration:
    """One table as catalogs are to know it.

    `location` is a path or a URI; `protocol` has the fields of deltalake's `ProtocolVersions`; `created` is in
    milliseconds since 1970.
    """

    identifier: Identifier
    location: str
    schema: Schema
    comment: str | None
    owner: Owner
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    protocol: Mapping[str, Any] = field(default_factory=dict)
    created: int = 0


def read_registration(identifier: Identifier, location: str, owner: Owner) -> TableRegistration | None:
    """Returns what is to be registered of the table at `location`; None where readers are not to find it.

    That is of a private table, of one with a row filter or masks, which readers of its files would go around, and
    where there is no table.

    Raises:
        StateError: TABLE_NOT_READABLE.
        ConfigError, ExternalError: as `open_delta_table`.
    """
    from deltalake.exceptions import TableNotFoundError

    with readable(str(identifier)):
        try:
            table = open_delta_table(location)
        except TableNotFoundError:
            return None
        metadata, schema = table.metadata(), table.schema().to_json()
        if is_restricted(metadata.configuration):
            return None
        protocol = table.protocol()._asdict()
    return TableRegistration(
        identifier,
        location,
        Schema(schema),
        metadata.description,
        owner,
        {name: text for name, text in metadata.configuration.items() if not name.startswith(_OWN)},
        tuple(metadata.partition_columns),
        protocol,
        metadata.created_time,
    )
