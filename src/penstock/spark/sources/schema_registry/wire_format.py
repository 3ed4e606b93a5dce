"""Confluent's wire format: a zero byte, the id of the schema in four bytes, and what the schema is of."""

from __future__ import annotations

from typing import Final

_MAGIC: Final = 0
_HEADER: Final = 5


class Undecodable(Exception):
    """A message that cannot be decoded; the text says why, and goes into the rescued data."""


def split(message: bytes) -> tuple[int, bytes]:
    """Returns the id of a message's schema, and its payload.

    Raises:
        Undecodable: it does not begin as the wire format does.
    """
    if len(message) < _HEADER or message[0] != _MAGIC:
        raise Undecodable("it does not begin with a zero byte and the id of a schema")
    return int.from_bytes(message[1:_HEADER], "big"), message[_HEADER:]
