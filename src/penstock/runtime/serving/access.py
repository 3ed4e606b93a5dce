"""Who may read which of the served tables: grants and roles as they are now, for users who have logged in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.access.grants import EVERYONE, Access, Grants
from penstock.graph.identifier import Identifier


@dataclass(slots=True)
class ServedAccess:
    """Decides which tables a client's user may read.

    `load` returns the grants and roles as they are now; `refresh` calls it. Unless users are `verified` by a password,
    a client has no name: only a role with `*` counts.
    """

    load: Callable[[], Access]
    verified: bool
    _refreshing: threading.Lock = field(default_factory=threading.Lock)
    _access: Access = field(default_factory=lambda: Access(Grants(), default_deny=True))

    @property
    def roles(self) -> Mapping[str, frozenset[str]]:
        """The roles that count: without `verified` users those of everyone."""
        roles = self._access.roles
        return roles if self.verified else {role: users & {EVERYONE} for role, users in roles.items()}

    def allows(self, user: str, table: Identifier) -> bool:
        """Whether a client's user may read a table, and so finds it in lists."""
        return self._access.allows(self._known(user), table)

    def check(self, user: str, table: Identifier) -> None:
        """Raises StateError INSUFFICIENT_PERMISSIONS."""
        self._access.check(self._known(user), [table])

    def refresh(self, users: Iterable[str] = (), tables: Iterable[Identifier] = ()) -> set[str]:
        """Reads grants and roles again; returns those of `users` who may no longer read one of `tables`.

        Raises:
            PenstockError: they cannot be read; what holds stays what it was.
        """
        with self._refreshing:
            before, self._access = self._access, self.load()
        lost = {(user, table) for user in users for table in tables if before.allows(self._known(user), table)}
        return {user for user, table in lost if not self._access.allows(self._known(user), table)}

    def _known(self, user: str) -> str | None:
        return user if self.verified and user else None


def with_roles(access: Access, more: Mapping[str, frozenset[str]]) -> Access:
    """Returns an access in which users have more roles, by role."""
    both = access.roles.keys() | more.keys()
    joined = {role: access.roles.get(role, frozenset()) | more.get(role, frozenset()) for role in both}
    return replace(access, roles=joined)
