"""A connection to an LDAP server: StartTLS, a bind, and searches, one after the other."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.runtime.serving.ldap import ber

SECONDS: Final = 10.0
SUCCESS: Final = 0
NO_SUCH_OBJECT: Final = 32
ENTRY_ITSELF: Final = 0
"""The scope of a search that reads the entry at its base."""

WHOLE_TREE: Final = 2
"""The scope of a search that reads all entries below its base, too."""

_LONGEST: Final = 4 << 20
"""Bytes of an answer."""

_BIND, _BOUND, _UNBIND, _SIMPLE = 0x60, 0x61, 0x42, 0x80
_SEARCH, _ENTRY, _DONE, _REFERENCE = 0x63, 0x64, 0x65, 0x73
_EXTENDED, _EXTENDED_ANSWER, _REQUEST_NAME = 0x77, 0x78, 0x80
_START_TLS: Final = "1.3.6.1.4.1.1466.20037"


@dataclass(frozen=True, slots=True)
class Result:
    """How an operation has ended: its code, and what the server says about it."""

    code: int
    text: str

    def __str__(self) -> str:
        return f"the result code {self.code} {self.text}".rstrip()


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a directory: its DN, and the values of those attributes that were asked for, by lower-case name."""

    dn: str
    attributes: Mapping[str, Sequence[str]]


class Connection:
    """The client's side of a connection. Each method raises OSError, ValueError or IndexError of a broken one."""

    def __init__(self, stream: socket.socket, seconds: float) -> None:
        """Takes a connected socket, which the caller closes; each operation may take so many `seconds`."""
        self._stream = stream
        self._seconds = seconds
        self._number = 0
        self._until = 0.0

    def start_tls(self, context: ssl.SSLContext, host: str) -> ssl.SSLSocket:
        """Returns the socket, encrypted from now on; the caller makes another connection of it.

        Raises:
            ValueError: the server does not, with its result code.
        """
        self._send(ber.value(_EXTENDED, ber.text(_START_TLS, _REQUEST_NAME)))
        answer, _ = self._answer(_EXTENDED_ANSWER)
        if (result := _result(answer)).code != SUCCESS:
            raise ValueError(f"it answers StartTLS with {result}")
        return context.wrap_socket(self._stream, server_hostname=host)

    def bind(self, name: str, password: str) -> Result:
        """Proves a name with a password (simple bind)."""
        self._send(ber.value(_BIND, ber.number(3), ber.text(name), ber.text(password, _SIMPLE)))
        answer, _ = self._answer(_BOUND)
        return _result(answer)

    def unbind(self) -> None:
        """Says that this was all."""
        self._send(ber.value(_UNBIND))

    def search(self, base: str, scope: int, condition: bytes, attributes: Sequence[str]) -> tuple[list[Entry], Result]:
        """Returns the entries at or below `base` that fit the encoded filter `condition`; references are left out."""
        wanted = ber.value(ber.SEQUENCE, *map(ber.text, attributes))
        limits = (ber.number(0), ber.number(int(self._seconds) or 1), ber.value(ber.BOOLEAN, b"\0"))
        how = (ber.number(scope, ber.ENUMERATED), ber.number(0, ber.ENUMERATED))
        self._send(ber.value(_SEARCH, ber.text(base), *how, *limits, condition, wanted))
        found: list[Entry] = []
        while True:
            answer, tag = self._answer(_ENTRY, _DONE, _REFERENCE)
            if tag == _DONE:
                return found, _result(answer)
            if tag == _ENTRY:
                found.append(_entry(answer))

    def _send(self, operation: bytes) -> None:
        self._number += 1
        self._until = time.monotonic() + self._seconds
        self._stream.settimeout(self._seconds)
        self._stream.sendall(ber.value(ber.SEQUENCE, ber.number(self._number), operation))

    def _answer(self, *expected: int) -> tuple[bytes, int]:
        number, rest = ber.part(self._message(), ber.INTEGER)
        tag, content, _ = ber.split(rest)
        if int.from_bytes(number, "big") == 0 and tag == _EXTENDED_ANSWER:
            raise ValueError(f"it ends the connection with {_result(content)}")
        if int.from_bytes(number, "big") != self._number or tag not in expected:
            raise ValueError("it does not speak LDAP")
        return content, tag

    def _message(self) -> bytes:
        head = self._read(2)
        if head[0] != ber.SEQUENCE:
            raise ValueError("it does not speak LDAP")
        size = head[1]
        if size & 0x80:
            size = int.from_bytes(self._read(size & 0x7F), "big")
        if size > _LONGEST:
            raise ValueError("it answers with too much")
        return self._read(size)

    def _read(self, count: int) -> bytes:
        read = bytearray()
        while len(read) < count:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._stream.settimeout(left)
            part = self._stream.recv(count - len(read))
            if not part:
                raise ValueError("it closed the connection")
            read += part
        return bytes(read)


def _result(content: bytes) -> Result:
    code, rest = ber.part(content, ber.ENUMERATED)
    _, rest = ber.part(rest, ber.OCTETS)
    text, _ = ber.part(rest, ber.OCTETS)
    return Result(int.from_bytes(code, "big"), text.decode("utf-8", "replace"))


def _entry(content: bytes) -> Entry:
    dn, rest = ber.part(content, ber.OCTETS)
    attributes: dict[str, list[str]] = {}
    listed, _ = ber.part(rest, ber.SEQUENCE)
    for each in ber.parts(listed, ber.SEQUENCE):
        name, behind = ber.part(each, ber.OCTETS)
        values, _ = ber.part(behind, ber.SET)
        attributes[name.decode().casefold()] = [
            each.decode("utf-8", "replace") for each in ber.parts(values, ber.OCTETS)
        ]
    return Entry(dn.decode(), attributes)
