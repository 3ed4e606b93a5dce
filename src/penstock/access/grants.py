"""Grants of SELECT on tables, schemas and catalogs, and what they allow. Frozen, and free of storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from penstock.access.sight import EVENT_LOG, Sight, TableEvents, everything
from penstock.errors import StateError
from penstock.graph.companions.late_rows import owner_of_late_rows
from penstock.graph.companions.quarantine import owner_of
from penstock.graph.identifier import Identifier
from penstock.graph.sql.names import quoted

SELECT: Final = "SELECT"
EVERYONE: Final = "*"
"""In the list of a role's users: whoever reads, also without having logged in."""

_OWN_CATALOG: Final = "spark_catalog"
"""How Spark calls the catalog of names without one."""


@dataclass(frozen=True, slots=True)
class Securable:
    """What a grant is on: a table, a schema or a catalog, compared without regard to case.

    `schema` and `table` are None for a catalog, `table` for a schema. `catalog` is None for the pipeline's own.
    """

    catalog: str | None
    schema: str | None = None
    table: str | None = None

    @classmethod
    def of_table(cls, table: Identifier) -> Securable:
        """Returns the table of that name."""
        return cls(table.catalog, table.schema, table.name)

    @property
    def kind(self) -> str:
        """TABLE, SCHEMA or CATALOG, as in statements."""
        return "TABLE" if self.table is not None else "SCHEMA" if self.schema is not None else "CATALOG"

    @property
    def key(self) -> tuple[str | None, ...]:
        """What equality compares."""
        return tuple(part and part.casefold() for part in (self.catalog, self.schema, self.table))

    def around(self) -> tuple[Securable, ...]:
        """Returns it with the schema and the catalog that hold it: a grant on any of them is a grant on it."""
        wider = (Securable(self.catalog, self.schema), Securable(self.catalog))
        return (self, *(each for each in wider if each != self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Securable) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        if self.schema is None:
            return principal_sql(self.catalog or _OWN_CATALOG)
        if self.table is None:
            parts = [part for part in (self.catalog, self.schema) if part is not None]
            return ".".join(map(principal_sql, parts))
        return str(Identifier(self.schema, self.table, self.catalog))


def principal_sql(name: str) -> str:
    """Returns the name of a user, role, schema or catalog as a statement has it, quoted where it must be."""
    plain = name.isascii() and name.isidentifier()
    return name if plain else quoted(name)


@dataclass(frozen=True, slots=True)
class Grants:
    """Who has SELECT on what: the roles and users by securable.

    A securable whose grants were all revoked has an empty set: it stays closed.
    """

    by_securable: Mapping[Securable, frozenset[str]] = field(default_factory=dict)

    def with_change(self, securable: Securable, principal: str, *, granted: bool) -> Grants:
        """Returns the grants after a GRANT to `principal`, or after a REVOKE."""
        before = self.by_securable.get(securable)
        if before is None and not granted:
            return self
        after = (before or frozenset()) | {principal} if granted else (before or frozenset()) - {principal}
        return Grants({**self.by_securable, securable: after})

    def readers(self, table: Identifier) -> frozenset[str] | None:
        """Returns the roles and users with SELECT on a table; None if no grant has ever named what it belongs to.

        The quarantine and the late rows of a table are closed with it, and need a grant of their own.
        """
        own = Securable.of_table(table).around()
        owner = owner_of(table) or owner_of_late_rows(table)
        closing = (*own, *(Securable.of_table(owner).around() if owner is not None else ()))
        if not any(each in self.by_securable for each in closing):
            return None
        return frozenset().union(*(self.by_securable.get(each, frozenset()) for each in own))


@dataclass(frozen=True, slots=True)
class Access:
    """Decides who reads what.

    Attributes:
        grants: those of the storage.
        roles: the users of each role; `*` is everyone.
        default_deny: whether a table that no grant has named is closed; else everyone reads it.
        event_table: the table that the event log is published as.
    """

    grants: Grants
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    default_deny: bool = False
    event_table: Identifier | None = None

    def principals(self, user: str | None) -> frozenset[str]:
        """Returns whose grants count for a user: the user's, and those of the user's roles.

        Of a user who is not known (None) only roles with `*` count.
        """
        mine = {EVERYONE} if user is None else {EVERYONE, user}
        held = {role for role, users in self.roles.items() if users & mine}
        return frozenset(held if user is None else {*held, user})

    def allows(self, user: str | None, table: Identifier) -> bool:
        """Whether a user may read the rows of a table, or the event log, which is `EVENT_LOG`."""
        return self._allows(self.principals(user), table)

    def allows_role(self, role: str, table: Identifier) -> bool:
        """Whether who has this role, and those of everyone, may read the rows of a table."""
        return self._allows(frozenset({role, *self.principals(None)}), table)

    def sight(self, user: str | None) -> Sight:
        """Returns what a user sees of the event log; of a log that is read again, ask again."""
        return everything if self.allows(user, EVENT_LOG) else TableEvents(partial(self.allows, user))

    def _allows(self, mine: frozenset[str], table: Identifier) -> bool:
        if table == self.event_table and self._allows(mine, EVENT_LOG):
            return True
        readers = self.grants.readers(table)
        if readers is None and table in (EVENT_LOG, self.event_table):
            # it tells of all tables, so it is open to those to whom no grant has closed one
            return not self.default_deny and not any(map(mine.isdisjoint, self.grants.by_securable.values()))
        return not self.default_deny if readers is None else not readers.isdisjoint(mine)

    def check(self, user: str | None, tables: Iterable[Identifier]) -> None:
        """Raises StateError INSUFFICIENT_PERMISSIONS for the first table that a user may not read."""
        for table in tables:
            if not self.allows(user, table):
                raise self.refusal(user, table)

    def refusal(self, user: str | None, table: Identifier) -> StateError:
        """Returns the error of a user who may not read a table."""
        everyone = (role for role, users in sorted(self.roles.items()) if EVERYONE in users)
        return StateError(
            "INSUFFICIENT_PERMISSIONS",
            dataset=str(table),
            user="A user without a name, who is in roles with '*' only," if user is None else f"The user {user}",
            name=table,
            principal=principal_sql(next(everyone, "everyone") if user is None else user),
        )
