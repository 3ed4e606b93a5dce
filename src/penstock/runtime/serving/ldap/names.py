"""Distinguished names: written for a bind, and compared."""

from __future__ import annotations

import re
from typing import Final

Name = tuple[frozenset[tuple[str, str]], ...]
"""A distinguished name as it is compared: of each part its attributes and their values, without regard to case."""

_PIECE: Final = re.compile(r"\\([0-9a-fA-F]{2})|\\(.)|([,;+])|(.)", re.DOTALL)


def escaped(user: str) -> str:
    """Returns a name as a value in a DN (RFC 4514), in which it can end nothing and add nothing."""
    plain = re.sub(r'[\\,+"<>;=#]', lambda found: "\\" + found[0], user)
    return re.sub(r"[^\x20-\x7e]", lambda found: "".join(f"\\{byte:02x}" for byte in found[0].encode()), plain)


def parsed(name: str) -> Name:
    """Returns a DN in the form that is compared; spaces around its parts, and how it is escaped, make no difference.

    Raises:
        ValueError: it is none.
    """
    whole: list[frozenset[tuple[str, str]]] = []
    attributes: list[tuple[str, str]] = []
    current = bytearray()
    kept = 0
    """How many bytes are escaped at the end of `current`, or before: spaces among them belong to the value."""

    def end_attribute() -> None:
        tail = current[kept:].rstrip(b" ")
        attribute, equals, value = (bytes(current[:kept]) + bytes(tail)).decode().partition("=")
        if not equals or not attribute.strip():
            raise ValueError(f"'{name}' is no DN")
        attributes.append((attribute.strip().casefold(), " ".join(value.split()).casefold()))

    for code, special, separator, plain in _PIECE.findall(name):
        if separator:
            end_attribute()
            current, kept = bytearray(), 0
            if separator != "+":
                whole.append(frozenset(attributes))
                attributes = []
        elif code or special:
            current += bytes.fromhex(code) if code else special.encode()
            kept = len(current)
        else:
            current += plain.encode()
    end_attribute()
    return (*whole, frozenset(attributes))
