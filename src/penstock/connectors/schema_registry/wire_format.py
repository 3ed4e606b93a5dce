"""Confluent's wire format: a zero byte, the id of the schema in four bytes, and what the schema is of."""

from __future__ import annotations

from typing import Final

_MAGIC: Final = 0
_HEADER: Final = 5
_DEEPEST: Final = 100
_LONGEST_NUMBER: Final = 5


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


def message_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """Returns which message of its file a payload of Protobuf is, and its bytes: (1, 0) is the first in the second.

    Raises:
        Undecodable: the payload does not begin with that.
    """
    count, at = _zigzag(payload, 0)
    if count == 0:  # the usual one, the first message of the file, has a spelling of its own
        return (0,), payload[at:]
    if not 0 < count <= _DEEPEST:
        raise Undecodable("its message indexes are none")
    indexes = []
    for _ in range(count):
        index, at = _zigzag(payload, at)
        indexes.append(index)
    return tuple(indexes), payload[at:]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    """Returns a number of variable length, and where the next one begins."""
    found = shift = 0
    for place in range(at, min(at + _LONGEST_NUMBER, len(data))):
        found |= (data[place] & 0x7F) << shift
        if data[place] < 0x80:
            return (found >> 1) ^ -(found & 1), place + 1
        shift += 7
    raise Undecodable("its message indexes are cut off")
