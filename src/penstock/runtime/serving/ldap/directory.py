"""Logins that a directory decides (LDAP, Active Directory): a simple bind as the user (RFC 4513, 5.1).

The user's own rights are enough to find the user's groups, so the endpoint has no account in the directory.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from penstock.config.sections.serve import USER, ServeSettings
from penstock.config.values.authority import is_loopback
from penstock.errors import ConfigError, ExternalError, StateError, render
from penstock.errors.text import clean
from penstock.runtime.serving.ldap.connection import (
    ENTRY_ITSELF,
    NO_SUCH_OBJECT,
    SECONDS,
    SUCCESS,
    WHOLE_TREE,
    Connection,
    Entry,
    Result,
)
from penstock.runtime.serving.ldap.filters import encoded
from penstock.runtime.serving.ldap.names import Name, escaped, parsed

_PORTS: Final = {"ldap": 389, "ldaps": 636}
_WRONG: Final = {32, 49, 53}
"""noSuchObject, invalidCredentials, and unwillingToPerform, which is that of an account that is locked."""

_NO_ATTRIBUTES: Final = ("1.1",)
_MEMBER_OF: Final = ("memberOf",)
_ANY_ENTRY: Final = "(objectClass=*)"
_NAME: Final = re.compile(r"[^\s@/\x00-\x1f](?:[^@/\x00-\x1f]*[^\s@/\x00-\x1f])?")
"""Hive takes what is before @ or / for the name: that of another user, perhaps."""


@dataclass(frozen=True, slots=True)
class Directory:
    r"""An LDAP server, under which name each user is known there, and which of its groups are roles.

    Attributes:
        url: `ldaps://host[:port]`; `ldap://` on this machine or with StartTLS.
        user: the name to bind with, in which `{user}` is the user's: a DN, `{user}@example.com`, or `DOMAIN\{user}`.
        certificates: a PEM file of the authorities that the server's certificate may be from; None for the system's.
        start_tls: whether a connection to `ldap://` is encrypted before anything else is said.
        roles: the DNs of the groups whose members have a role, by role.
        base: where users and groups are searched.
        group_filter: which groups below `base` a user is in; None for those that the user's entry names (`memberOf`).
        report: is called with the text of a warning.
        looked_for: groups that the directory was asked for; each is missed once.
    """

    url: str
    user: str
    certificates: Path | None = None
    start_tls: bool = False
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    base: str | None = None
    group_filter: str | None = None
    report: Callable[[str], None] = field(default=lambda text: None, compare=False)
    looked_for: set[str] = field(default_factory=set, compare=False)

    @classmethod
    def of(cls, serve: ServeSettings, report: Callable[[str], None] = lambda text: None) -> Directory | None:
        """Returns the directory of the section `serve`, None where there is none.

        Raises:
            ConfigError: SERVE_LDAP_INVALID.
        """
        if serve.ldap_url is None:
            others = (serve.ldap_user, serve.ldap_certificates, serve.ldap_roles, serve.ldap_base)
            if any((*others, serve.ldap_group_filter, serve.ldap_starttls)):
                raise _invalid("ldap_url", "it is not given")
            return None
        if serve.ldap_user is None or USER not in serve.ldap_user:
            raise _invalid("ldap_user", f"it must have {USER}, such as uid={USER},ou=people,dc=example,dc=com")
        address = _address(serve.ldap_url)
        if address.scheme == "ldap" and not (serve.ldap_starttls or is_loopback(str(address.hostname))):
            raise _invalid("ldap_url", "passwords would cross the network readable; use ldaps://, or 'ldap_starttls'")
        if address.scheme == "ldaps" and serve.ldap_starttls:
            raise _invalid("ldap_starttls", "a connection to ldaps:// is encrypted from its start; use ldap://")
        if serve.ldap_certificates is not None:
            _context(serve.ldap_certificates)
        _check_groups(serve, serve.ldap_user)
        return cls(
            serve.ldap_url,
            serve.ldap_user,
            serve.ldap_certificates,
            serve.ldap_starttls,
            serve.ldap_roles,
            serve.ldap_base,
            serve.ldap_group_filter,
            report,
        )

    @property
    def binds_by_dn(self) -> bool:
        """Whether users bind with a DN, not with a name of Active Directory's."""
        return _is_dn(self.user)

    def reach(self) -> None:
        """Connects and says nothing, but for StartTLS.

        Raises:
            ExternalError: LDAP_UNAVAILABLE.
        """
        with self._connected():
            pass

    def known_as(self, user: str) -> str:
        """Returns the name by which Hive and Penstock know who logs in as `user`: without the domain of this directory.

        Another domain stays: it is not this directory's user.
        """
        domain = self.user.removeprefix(USER)
        own = domain.startswith("@") and user.casefold().endswith(domain.casefold())
        return user[: -len(domain)] if own else user

    def log_in(self, user: str, password: str) -> frozenset[str] | None:
        """Returns the roles that the groups of a user give; None if the directory has no user with this password.

        Raises:
            ExternalError: LDAP_UNAVAILABLE, also when the directory answers something else than yes or no, or does not
                show the user's groups.
        """
        if not password or _NAME.fullmatch(user) is None:  # a bind without a password succeeds for any name
            return None
        if not self.binds_by_dn and self.user != USER and "\\" in user:  # a second domain in the name
            return None
        name = self.user.replace(USER, escaped(user) if self.binds_by_dn else user)
        with self._connected() as connection:
            result = connection.bind(name, password)
            roles: frozenset[str] = frozenset()
            if result.code == SUCCESS and self.roles:
                roles = self._roles_of(connection, user, name)
            connection.unbind()
        if result.code != SUCCESS and result.code not in _WRONG:
            raise self._unavailable(f"it answers with {result}")
        return roles if result.code == SUCCESS else None

    def _roles_of(self, connection: Connection, user: str, bound: str) -> frozenset[str]:
        dn = bound
        if self.group_filter is None or not self.binds_by_dn:
            entry = self._entry(connection, user, bound)
            dn = entry.dn
        if self.group_filter is None:
            if any(name.startswith("memberof;range=") for name in entry.attributes):
                raise ValueError(f"it shows a part of the groups of {dn} only; give 'serve.ldap_group_filter'")
            groups = entry.attributes.get("memberof", ())
        else:
            found = self._below_base(connection, self.group_filter, {"dn": dn, "user": user}, _NO_ATTRIBUTES)
            groups = [each.dn for each in found]
        mine = {_comparable(group) for group in groups}
        self._miss_groups(connection, mine)
        return frozenset(role for role, dns in self.roles.items() if any(parsed(each) in mine for each in dns))

    def _entry(self, connection: Connection, user: str, bound: str) -> Entry:
        if self.binds_by_dn:
            where = f"at '{bound}'"
            found, result = connection.search(bound, ENTRY_ITSELF, encoded(_ANY_ENTRY, {}), _MEMBER_OF)
            self._check(result, f"a look {where}")
        else:
            where = f"below '{self.base}'"
            names = {"bound": bound, "user": user}
            found = []
            if "@" in bound:
                found = self._below_base(connection, "(userPrincipalName={bound})", names, _MEMBER_OF)
            if not found:  # as Active Directory takes the name of a bind
                found = self._below_base(connection, "(sAMAccountName={user})", names, _MEMBER_OF)
        if len(found) != 1:
            raise ValueError(f"it shows {len(found)} entries of '{bound}' {where}: see 'serve.ldap_base'")
        return found[0]

    def _below_base(
        self, connection: Connection, search: str, values: Mapping[str, str], attributes: Sequence[str]
    ) -> list[Entry]:
        found, result = connection.search(str(self.base), WHOLE_TREE, encoded(search, values), attributes)
        self._check(result, f"a search below '{self.base}'")
        return found

    def _miss_groups(self, connection: Connection, mine: set[Name | None]) -> None:
        """Says once of each group that it is not there: a misspelt one would silently give its role to no one."""
        for role, dns in self.roles.items():
            for group in dns:
                if group in self.looked_for or parsed(group) in mine:
                    continue
                self.looked_for.add(group)
                found, result = connection.search(group, ENTRY_ITSELF, encoded(_ANY_ENTRY, {}), _NO_ATTRIBUTES)
                if result.code == NO_SUCH_OBJECT or (result.code == SUCCESS and not found):
                    self.report(render(StateError("LDAP_GROUP_UNKNOWN", group=group, role=role, url=self.url)))

    def _check(self, result: Result, what: str) -> None:
        if result.code != SUCCESS:
            raise ValueError(f"it answers {what} with {result}")

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        address = _address(self.url)
        host, port = str(address.hostname), address.port or _PORTS[address.scheme]
        try:
            with ExitStack() as open_sockets:
                stream = open_sockets.enter_context(socket.create_connection((host, port), SECONDS))
                if address.scheme == "ldaps":
                    stream = open_sockets.enter_context(
                        _context(self.certificates).wrap_socket(stream, server_hostname=host)
                    )
                elif self.start_tls:
                    secured = Connection(stream, SECONDS).start_tls(_context(self.certificates), host)
                    stream = open_sockets.enter_context(secured)
                yield Connection(stream, SECONDS)
        except (OSError, ValueError, IndexError) as error:  # ssl.SSLError is an OSError
            raise self._unavailable(str(getattr(error, "strerror", None) or error)) from None

    def _unavailable(self, reason: str) -> ExternalError:
        return ExternalError("LDAP_UNAVAILABLE", url=self.url, reason=clean(reason, limit=300))


def _check_groups(serve: ServeSettings, user: str) -> None:
    if not serve.ldap_roles:
        for key, given in (("ldap_base", serve.ldap_base), ("ldap_group_filter", serve.ldap_group_filter)):
            if given is not None:
                raise _invalid(key, "it is for groups, and 'serve.ldap_roles' names none")
        return
    if user == USER:  # the same name in two domains would be two users with one's groups
        raise _invalid("ldap_user", f"for roles it must name the domain, such as {USER}@example.com")
    if serve.ldap_base is None and (not _is_dn(user) or serve.ldap_group_filter is not None):
        raise _invalid("ldap_base", "users or groups are searched below it, and it is not given")
    for role, group in ((role, group) for role, groups in serve.ldap_roles.items() for group in groups):
        if _comparable(group) is None:
            raise _invalid(f"ldap_roles.{role}", f"'{group}' is not the DN of a group")
    if serve.ldap_base is not None and _comparable(serve.ldap_base) is None:
        raise _invalid("ldap_base", f"'{serve.ldap_base}' is no DN")
    if serve.ldap_group_filter is not None:
        try:
            encoded(serve.ldap_group_filter, {"dn": "", "user": ""})
        except ValueError as error:
            raise _invalid("ldap_group_filter", str(error)) from None
        if "{dn}" not in serve.ldap_group_filter and USER not in serve.ldap_group_filter:
            raise _invalid("ldap_group_filter", f"it must have {{dn}} or {USER}, or everyone is in each group")


def _is_dn(user: str) -> bool:
    return "=" in user


def _comparable(dn: str) -> Name | None:
    try:
        return parsed(dn)
    except ValueError:
        return None


def _address(url: str) -> SplitResult:
    try:
        found = urlsplit(url)
        port_is_number = found.port is None or found.port > 0
    except ValueError:
        raise _invalid("ldap_url", f"'{url}' is no address") from None
    if found.scheme not in _PORTS or not found.hostname or not port_is_number or found.path.strip("/") or found.query:
        raise _invalid("ldap_url", f"'{url}' is not ldaps://HOST[:PORT]")
    return found


def _context(certificates: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificates)
    except OSError as error:
        reason = f"'{certificates}' has no certificates: {error.strerror or error}"
        raise _invalid("ldap_certificates", reason) from None


def _invalid(key: str, reason: str) -> ConfigError:
    return ConfigError("SERVE_LDAP_INVALID", key=f"serve.{key}", reason=reason)
