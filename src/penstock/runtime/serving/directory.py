"""Logins that a directory decides (LDAP, Active Directory): a simple bind as the user, the whole of RFC 4513, 5.1.

No search is needed, and so no account of the endpoint's own in the directory.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from penstock.config.sections.serve import USER, ServeSettings
from penstock.config.values.authority import is_loopback
from penstock.errors import ConfigError, ExternalError
from penstock.errors.text import clean

_SECONDS: Final = 10.0
_LONGEST: Final = 64 << 10
"""Bytes of an answer."""

_PORTS: Final = {"ldap": 389, "ldaps": 636}
_SUCCESS: Final = 0
_WRONG: Final = {32, 49, 53}
"""noSuchObject, invalidCredentials, and unwillingToPerform, which is that of an account that is locked."""

_INTEGER, _OCTETS, _ENUMERATED, _SEQUENCE = 0x02, 0x04, 0x0A, 0x30
_BIND, _BOUND, _UNBIND, _SIMPLE = 0x60, 0x61, 0x42, 0x80
_NAME: Final = re.compile(r"[^\s@/\x00-\x1f](?:[^@/\x00-\x1f]*[^\s@/\x00-\x1f])?")
"""Hive takes what is before @ or / for the name: that of another user, perhaps."""


@dataclass(frozen=True, slots=True)
class Directory:
    """An LDAP server, and under which name each user is known there.

    Attributes:
        url: `ldaps://host[:port]`, or `ldap://` on this machine.
        user: the name to bind with, in which `{user}` is the user's: a DN, or `{user}@example.com`.
        certificates: a PEM file of the authorities that the server's certificate may be from; None for the system's.
    """

    url: str
    user: str
    certificates: Path | None = None

    @classmethod
    def of(cls, serve: ServeSettings) -> Directory | None:
        """Returns the directory of the section `serve`, None where there is none.

        Raises:
            ConfigError: SERVE_LDAP_INVALID.
        """
        if serve.ldap_url is None:
            if serve.ldap_user is not None or serve.ldap_certificates is not None:
                raise _invalid("ldap_url", "it is not given")
            return None
        if serve.ldap_user is None or USER not in serve.ldap_user:
            raise _invalid("ldap_user", f"it must have {USER}, such as uid={USER},ou=people,dc=example,dc=com")
        address = _address(serve.ldap_url)
        if address.scheme == "ldap" and not is_loopback(str(address.hostname)):
            raise _invalid("ldap_url", "passwords would cross the network readable; use ldaps://")
        if serve.ldap_certificates is not None:
            _context(serve.ldap_certificates)
        return cls(serve.ldap_url, serve.ldap_user, serve.ldap_certificates)

    def reach(self) -> None:
        """Connects and says nothing.

        Raises:
            ExternalError: LDAP_UNAVAILABLE.
        """
        with self._connected():
            pass

    def knows(self, user: str, password: str) -> bool:
        """Whether the directory has the user with this password.

        Raises:
            ExternalError: LDAP_UNAVAILABLE, also when the directory answers something else than yes or no.
        """
        if not password or _NAME.fullmatch(user) is None:  # a bind without a password succeeds for any name
            return False
        name = self.user.replace(USER, _escaped(user) if "=" in self.user else user)
        bind = _value(_INTEGER, b"\x03") + _value(_OCTETS, name.encode()) + _value(_SIMPLE, password.encode())
        with self._connected() as stream:
            stream.sendall(_message(1, _value(_BIND, bind)))
            code, text = _result(_Answer(stream).message())
            stream.sendall(_message(2, _value(_UNBIND, b"")))
        if code != _SUCCESS and code not in _WRONG:
            raise self._unavailable(f"it answers with the result code {code} {text}".rstrip())
        return code == _SUCCESS

    @contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        address = _address(self.url)
        host, port = str(address.hostname), address.port or _PORTS[address.scheme]
        try:
            with socket.create_connection((host, port), _SECONDS) as plain:
                if address.scheme == "ldap":
                    yield plain
                    return
                with _context(self.certificates).wrap_socket(plain, server_hostname=host) as secured:
                    yield secured
        except (OSError, ValueError, IndexError) as error:  # ssl.SSLError is an OSError
            raise self._unavailable(str(getattr(error, "strerror", None) or error)) from None

    def _unavailable(self, reason: str) -> ExternalError:
        return ExternalError("LDAP_UNAVAILABLE", url=self.url, reason=clean(reason, limit=300))


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


def _escaped(user: str) -> str:
    """Returns a name as a value in a DN (RFC 4514), in which it can end nothing and add nothing."""
    text = re.sub(r'[\\,+"<>;=#]', lambda found: "\\" + found[0], user)
    return re.sub(r"[^\x20-\x7e]", lambda found: "".join(f"\\{byte:02x}" for byte in found[0].encode()), text)


def _value(tag: int, content: bytes) -> bytes:
    """Returns a value of BER."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(digits))) + digits + content


def _message(number: int, operation: bytes) -> bytes:
    return _value(_SEQUENCE, _value(_INTEGER, bytes((number,))) + operation)


def _result(message: bytes) -> tuple[int, str]:
    """Returns the result code of a BindResponse, and what the server says about it."""
    _, _, rest = _split(message, _INTEGER)
    _, response, _ = _split(rest, _BOUND)
    _, code, rest = _split(response, _ENUMERATED)
    _, _, rest = _split(rest, _OCTETS)
    _, text, _ = _split(rest, _OCTETS)
    return int.from_bytes(code, "big"), text.decode("utf-8", "replace")


def _split(content: bytes, expected: int) -> tuple[int, bytes, bytes]:
    """Returns the tag of the first value, its content, and what is behind it."""
    tag, size, start = content[0], content[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(content[2:start], "big")
    if tag != expected or start + size > len(content):
        raise ValueError("it does not speak LDAP")
    return tag, content[start : start + size], content[start + size :]


class _Answer:
    """Reads one message, in ten seconds at most, however slowly its bytes come."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._until = time.monotonic() + _SECONDS

    def message(self) -> bytes:
        head = self._read(2)
        if head[0] != _SEQUENCE:
            raise ValueError("it does not speak LDAP")
        size = head[1]
        if size & 0x80:
            size = int.from_bytes(self._read(size & 0x7F), "big")
        if size > _LONGEST:
            raise ValueError("it answers with too much")
        return self._read(size)

    def _read(self, count: int) -> bytes:
        read = b""
        while len(read) < count:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._stream.settimeout(left)
            part = self._stream.recv(count - len(read))
            if not part:
                raise ValueError("it closed the connection")
            read += part
        return read
