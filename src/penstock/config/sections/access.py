"""What a pipeline file says about who may read the tables: roles, and what a table without a grant is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.config.shapes import Key, MapOf, Section, Text, TextList, matching
from penstock.graph.identifier import Identifier

_DENY: Final = "deny"
_default = matching(f"allow|{_DENY}", f"allow or {_DENY}", _DENY)


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Who has which role, and whether a table that no grant has named is closed; `*` in a role is everyone.

    `event_table` is the table that the event log is published as.
    """

    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    default_deny: bool = False
    event_table: Identifier | None = None


ROLES: Final = MapOf(TextList())

DEFAULT_ACCESS: Final = Section(
    (
        Key(
            "default",
            Text(_default, f"allow|{_DENY}"),
            "Whether everyone may read a table that no grant has named (allow), or no one (deny).",
            _DENY,
            "allow",
        ),
    )
)


def access_settings(
    roles: Mapping[str, list[str]], values: Mapping[str, Any], event_table: Identifier | None
) -> AccessSettings:
    """Returns the settings of the values of a file's sections `roles` and `access`."""
    members = {role: frozenset(users) for role, users in roles.items()}
    return AccessSettings(members, values.get("default") == _DENY, event_table)
