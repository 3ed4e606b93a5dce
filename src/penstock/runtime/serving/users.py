"""Who may log in at the SQL endpoint: passwords checked against salted hashes, secrets, or by a directory."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.config.sections.serve import PASSWORD_HASH
from penstock.config.values.secret import SecretReference
from penstock.errors import ConfigError, PenstockError, StateError
from penstock.runtime.serving.ldap.directory import Directory

_N: Final = 1 << 14
_R: Final = 8
_P: Final = 1
_MEMORY: Final = 64 << 20
_HASHED_AT_ONCE: Final = 2
"""Each takes 16 MB and a twentieth of a second of a core."""

_WRONG_PAUSE: Final = 1.0
_NO_PASSWORD: Final = "scrypt:16384:8:1:" + "0" * 32 + ":" + "0" * 64


def hash_password(password: str, *, salt: bytes | None = None) -> str:
    """Returns a salted hash (scrypt) that may stand in a pipeline file."""
    salt = secrets.token_bytes(16) if salt is None else salt
    return f"scrypt:{_N}:{_R}:{_P}:{salt.hex()}:{_key(password, salt, (_N, _R, _P), 32).hex()}"


def is_password(password: str, stored: str) -> bool:
    """Whether `stored`, a hash or a password, is that of `password`; takes as long for a wrong one."""
    found = PASSWORD_HASH.fullmatch(stored)
    if found is None:
        return hmac.compare_digest(password.encode(), stored.encode())
    n, r, p, salt, key = found.groups()
    expected = bytes.fromhex(key)
    try:
        given = _key(password, bytes.fromhex(salt), (int(n), int(r), int(p)), len(expected))
    except ValueError:  # a cost that scrypt does not take
        return False
    return hmac.compare_digest(given, expected)


def _key(password: str, salt: bytes, cost: tuple[int, int, int], length: int) -> bytes:
    n, r, p = cost
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, dklen=length, maxmem=_MEMORY)


@dataclass(slots=True)
class Users:
    """The users of an endpoint; without any, each name is believed, which only a loopback address allows.

    `load` returns the users of the pipeline file as it is now; `refresh` calls it. Those whom the file does not name
    may be known to the `directory`.
    """

    load: Callable[[], Mapping[str, SecretReference | str]]
    declared: bool
    directory: Directory | None = None
    _of_directory: dict[str, frozenset[str]] = field(default_factory=dict)
    """The roles that each user of the directory had at the last login."""

    _users: Mapping[str, SecretReference | str] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _hashing: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(_HASHED_AT_ONCE))
    _pauses: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))
    """Of each user whose password was wrong; of all names that are no user's, one."""

    def refresh(self) -> set[str]:
        """Reads the users again; returns those that are no longer there, or have another password.

        Raises:
            PenstockError: the file is wrong; the users stay what they were.
        """
        if not self.declared:
            return set()
        users = self.load()
        with self._lock:
            before, self._users = self._users, users
        return {name for name, password in before.items() if users.get(name) != password}

    def check(self, user: str, password: str) -> None:
        """Raises SQL_LOGIN_FAILED unless the password is that of the user, LDAP_UNAVAILABLE when that is not known.

        A wrong one is answered after a second, and those for one user one after the other: a guesser has a try a
        second, and the right password does not wait behind the wrong ones.
        """
        if not self.declared:
            return
        known_as = user if self.directory is None else self.directory.known_as(user)
        stored = self._users.get(known_as)
        if not (self._is_in_directory(known_as, password) if stored is None else self._is_in_file(stored, password)):
            with self._pauses[known_as if stored is not None else ""]:
                time.sleep(_WRONG_PAUSE)
            raise ConfigError("SQL_LOGIN_FAILED", user=user)

    def _is_in_directory(self, user: str, password: str) -> bool:
        if self.directory is None:
            self._is_in_file(_NO_PASSWORD, password)  # takes as long as for a user's name
            return False
        roles = self.directory.log_in(user, password)
        if roles is None:
            return False
        with self._lock:
            self._of_directory[user] = roles
        return True

    def roles(self) -> dict[str, frozenset[str]]:
        """Returns the users of each role that groups of the directory give; users of the file have none of them."""
        with self._lock:
            held = [
                (role, user) for user, all_ in self._of_directory.items() if user not in self._users for role in all_
            ]
        return {role: frozenset(user for each, user in held if each == role) for role in {role for role, _ in held}}

    def _is_in_file(self, stored: SecretReference | str, password: str) -> bool:
        try:
            secret = stored.resolve() if isinstance(stored, SecretReference) else stored
        except ConfigError:
            return False
        with self._hashing:
            return is_password(password, secret)

    def admit(self, user: str) -> None:
        """Raises SQL_USER_REVOKED for who was taken out since the login."""
        if self.declared and user not in self._users and user not in self._of_directory:
            raise revoked(user)


def revoked(user: str) -> PenstockError:
    """Returns the error of a user who was taken out."""
    return StateError("SQL_USER_REVOKED", user=user)
