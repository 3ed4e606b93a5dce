"""Values as LDAP encodes them (BER)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

BOOLEAN: Final = 0x01
INTEGER: Final = 0x02
OCTETS: Final = 0x04
ENUMERATED: Final = 0x0A
SEQUENCE: Final = 0x30
SET: Final = 0x31


def value(tag: int, *content: bytes) -> bytes:
    """Returns a value of the joined `content`."""
    whole = b"".join(content)
    size = len(whole)
    if size < 0x80:
        return bytes((tag, size)) + whole
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(digits))) + digits + whole


def text(content: str, tag: int = OCTETS) -> bytes:
    """Returns a text as a value."""
    return value(tag, content.encode())


def number(content: int, tag: int = INTEGER) -> bytes:
    """Returns a number from 0 as a value."""
    return value(tag, content.to_bytes(content.bit_length() // 8 + 1, "big"))


def split(content: bytes) -> tuple[int, bytes, bytes]:
    """Returns the tag of the first value, its content, and what is behind it.

    Raises:
        ValueError, IndexError: it is no value.
    """
    tag, size, start = content[0], content[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(content[2:start], "big")
    if start + size > len(content):
        raise ValueError("it does not speak LDAP")
    return tag, content[start : start + size], content[start + size :]


def part(content: bytes, expected: int) -> tuple[bytes, bytes]:
    """Returns the content of the first value, which has the `expected` tag, and what is behind it.

    Raises:
        ValueError, IndexError: it is another one.
    """
    tag, first, rest = split(content)
    if tag != expected:
        raise ValueError("it does not speak LDAP")
    return first, rest


def parts(content: bytes, expected: int) -> Iterator[bytes]:
    """Yields the contents of values that all have the `expected` tag."""
    while content:
        first, content = part(content, expected)
        yield first
