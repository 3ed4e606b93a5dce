"""The entry of a table in a catalog: whose it is, and where it points to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.errors import StateError
from penstock.graph.identifier import Identifier
from penstock.registration.table import Owner

PIPELINE: Final = "penstock.pipeline"
STORAGE: Final = "penstock.storage"
INACTIVE: Final = "penstock.inactive_since"
"""Properties with which an entry is marked."""


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
    """Lets the owner's entry pass, and one of nobody's that points to the same place.

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


def same_place(one: str | None, other: str) -> bool:
    """Whether two locations are one: a path is also a `file:` URI, and a slash at the end says nothing."""
    return one is not None and _path(one) == _path(other)


def _path(location: str) -> str:
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    return location.rstrip("/")
