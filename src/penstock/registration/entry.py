"""The entry of a table in a catalog: whose it is, and where it points to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from penstock.errors import ExternalError, StateError
from penstock.graph.identifier import Identifier
from penstock.registration.table import Owner

PIPELINE: Final = "penstock.pipeline"
STORAGE: Final = "penstock.storage"
INACTIVE: Final = "penstock.inactive_since"
"""Properties with which an entry is marked."""

ColumnAs = tuple[Any, ...]
"""A column as a catalog has it: type, comment, and what else is compared."""


def owner_of(properties: Mapping[str, str]) -> Owner | None:
    """Returns whose entry has these properties; None for one that no pipeline has made."""
    return Owner(properties[PIPELINE], properties.get(STORAGE, "")) if PIPELINE in properties else None


def check_owner(
    identifier: Identifier,
    own: Owner,
    own_location: str,
    *,
    catalog: str,
    table: str,
    properties: Mapping[str, str],
    location: str | None,
) -> None:
    """Lets the owner's entry pass, and one without an owner that points to the same place.

    Raises:
        StateError: TABLE_REGISTERED_BY_ANOTHER.
    """
    owner = owner_of(properties)
    if owner == own or (owner is None and same_place(location, own_location)):
        return
    raise StateError(
        "TABLE_REGISTERED_BY_ANOTHER",
        dataset=str(identifier),
        catalog=catalog,
        table=table,
        owner=f"pipeline {owner.pipeline} on {owner.storage}" if owner is not None else "no pipeline of Penstock",
        their_location=location or "no location",
        own=f"pipeline {own.pipeline} on {own.storage}",
        own_location=own_location,
    )


def inactive_mark() -> dict[str, str]:
    """Returns the property that marks an entry as inactive since now."""
    return {INACTIVE: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def column_differences(before: Mapping[str, ColumnAs], after: Mapping[str, ColumnAs]) -> list[str]:
    """Returns in words what an entry's columns `before` have otherwise than those of the table.

    Both by name, in their order, each with its type, its comment, and what else is compared.
    """
    found = [f"column {name} is missing" for name in after if name not in before]
    found += [f"column {name} is not in the table" for name in before if name not in after]
    changed = [name for name in before if name in after and before[name] != after[name]]
    return found + [f"column {name} is {before[name][0]}, {before[name][1] or 'no comment'}" for name in changed]


def not_reachable(catalog: str, uri: str, failure: Exception) -> ExternalError:
    """Returns what it means that the connection to a catalog has failed or ended."""
    reason = getattr(failure, "strerror", None) or str(failure) or type(failure).__name__
    return ExternalError("CATALOG_NOT_REACHABLE", catalog=catalog, uri=uri, reason=reason)


def not_registered(
    identifier: Identifier, catalog: str, table: str, kind: str, refusal: Exception, *, passing: bool
) -> ExternalError:
    """Returns what it means that a catalog refuses a table, or, `passing`, has failed at it; `kind` is its reason."""
    condition = "TABLE_REGISTRATION_FAILED" if passing else "TABLE_NOT_REGISTERED"
    reason = f"{kind}: {refusal}"
    return ExternalError(condition, dataset=str(identifier), catalog=catalog, table=table, reason=reason)


def same_place(one: str | None, other: str) -> bool:
    """Whether two locations are one: a path is also a `file:` URI, and a slash at the end says nothing."""
    return one is not None and _path(one) == _path(other)


def _path(location: str) -> str:
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    return location.rstrip("/")
