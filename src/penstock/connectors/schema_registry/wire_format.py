"""Confluent's wire format: a zero byte, the id of the schema in four bytes, and what the schema is of.

The schemas that messages were written with are asked for once in a process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from penstock.connectors.schema_registry.client import RegisteredSchema, SchemaRegistry

_MAGIC: Final = 0
_HEADER: Final = 5
_DEEPEST: Final = 100
_LONGEST_NUMBER: Final = 5

W = TypeVar("W")

_UNKNOWN_SECONDS: Final = 60.0
"""For how long an id that the registry does not have is not asked for again."""


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


class Unsupported(Exception):
    """A schema that has no columns; the text says why."""


@dataclass(slots=True)
class Writers(Generic[W]):
    """What `prepare` makes of the schema of an id; it raises Undecodable for one whose messages cannot be read.

    `kind` is what the registry calls the format, `form` in which the schema is asked for.
    """

    registry: SchemaRegistry
    kind: str
    prepare: Callable[[RegisteredSchema], W]
    form: str = ""
    _known: dict[int, W | Undecodable] = field(default_factory=dict)
    _missing: dict[int, float] = field(default_factory=dict)

    def of(self, number: int) -> W:
        """Returns what there is for the messages of an id.

        Raises:
            Undecodable: no such schema, or none that its messages can be read with.
            SourceFailure: those of the registry.
        """
        found = self._known.get(number)
        if found is None:
            found = self._fetch(number)
        if isinstance(found, Undecodable):
            raise found
        return found

    def _fetch(self, number: int) -> W | Undecodable:
        if time.monotonic() < self._missing.get(number, 0.0):
            return Undecodable(f"the registry has no schema {number}")
        schema = self.registry.by_id(number, form=self.form)
        if schema is None:
            self._missing[number] = time.monotonic() + _UNKNOWN_SECONDS
            return Undecodable(f"the registry has no schema {number}")
        self._known[number] = made = self._made(number, schema)
        return made

    def _made(self, number: int, schema: RegisteredSchema) -> W | Undecodable:
        if schema.kind != self.kind:
            return Undecodable(f"the schema {number} is of {schema.kind}, not of {self.kind}")
        try:
            return self.prepare(schema)
        except Undecodable as error:
            return Undecodable(f"the schema {number}: {error}")
