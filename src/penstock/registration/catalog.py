"""What a catalog does for registration, whatever its kind."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from penstock.graph.identifier import Identifier
from penstock.registration.table import Owner, TableRegistration


class Action(Enum):
    """What was done to an entry of a catalog."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DEACTIVATED = "DEACTIVATED"
    REMOVED = "REMOVED"


@dataclass(frozen=True, slots=True)
class Change:
    """What was done; `differences` are what the catalog said otherwise before, in words."""

    action: Action
    differences: tuple[str, ...] = ()


class Session(Protocol):
    """A connection to a catalog. Not thread-safe. Each method can be repeated.

    Each raises StateError TABLE_REGISTERED_BY_ANOTHER for an entry of another owner, which is left as it is, and
    ExternalError TABLE_NOT_REGISTERED for what the catalog refuses, TABLE_REGISTRATION_FAILED for what it may take
    soon. An error of any other class has ended the connection, and must leave the block of `Catalog.connect`, which
    makes it CATALOG_NOT_REACHABLE.
    """

    def register(self, table: TableRegistration) -> Change | None:
        """Creates or corrects the table's entry; returns None if it is right already."""
        ...

    def differences(self, table: TableRegistration) -> tuple[str, ...]:
        """Returns what `register` would correct, and changes nothing."""
        ...

    def deactivate(self, identifier: Identifier, owner: Owner) -> Change | None:
        """Marks the entry of a table that the pipeline no longer declares; None without an own, active entry."""
        ...

    def remove(self, identifier: Identifier, owner: Owner) -> bool:
        """Removes the entry of a table whose files are deleted; returns whether there was one of this owner."""
        ...


class Catalog(Protocol):
    """A catalog in which tables are registered."""

    @property
    def name(self) -> str:
        """Its name in the pipeline file."""
        ...

    @property
    def uri(self) -> str:
        """Its address."""
        ...

    def name_of(self, identifier: Identifier) -> str:
        """Returns the name, `schema.table`, under which it has a dataset."""
        ...

    def connect(self) -> AbstractContextManager[Session]:
        """Opens a connection.

        Raises:
            ExternalError: CATALOG_NOT_REACHABLE, on entering or when the connection ends within the block.
        """
        ...
