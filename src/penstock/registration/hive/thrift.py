"""Thrift's binary protocol, as far as the metastore's interface needs it: structs are dicts by the numbers of fields.

What was read can be written again, fields that this version does not know included. A list that is a key of a map or
an item of a set is a tuple.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

_VERSION: Final = 0x80010000
_CALL, _EXCEPTION = 1, 3
_BOOL, _BYTE, _DOUBLE, _I16, _I32, _I64, _STRING, _STRUCT, _MAP, _SET, _LIST = 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15
_MOST_BYTES: Final = 64 << 20
_DEEPEST: Final = 32
_NUMBERS: Final = {_BYTE: ">b", _DOUBLE: ">d", _I16: ">h", _I32: ">i", _I64: ">q"}

Read = Callable[[int], bytes]
"""Returns exactly so many bytes of the connection."""


class Struct(dict[int, Any]):
    """A Thrift struct: its values by the numbers of its fields."""


class Sized(int):
    """A whole number that is not an i32; `kind` is Thrift's code of its type."""

    kind: int

    def __new__(cls, value: int, kind: int) -> Sized:
        """Returns `value` with its type."""
        made = super().__new__(cls, value)
        made.kind = kind
        return made


class ProtocolError(Exception):
    """The server does not understand the call, or something else than Thrift has answered."""


def call(name: str, arguments: Struct, number: int) -> bytes:
    """Returns the message that calls a function of the server."""
    return struct.pack(">I", _VERSION | _CALL) + _text(name) + struct.pack(">i", number) + _bytes_of(arguments)


def read_answer(read: Read) -> Struct:
    """Returns the result of a call: its field 0 is the value, the others are declared exceptions.

    Raises:
        ProtocolError: the server refuses the call as such, or does not speak this protocol.
    """
    [version] = struct.unpack(">I", read(4))
    if version & 0xFFFF0000 != _VERSION:
        raise ProtocolError("the answer is not in Thrift's binary protocol")
    _read(_STRING, read)
    _read(_I32, read)
    answer: Struct = _read(_STRUCT, read)
    if version & 0xFF == _EXCEPTION:
        raise ProtocolError(answer.get(1) or "the server does not know the call")
    return answer


def _text(text: str) -> bytes:
    encoded = text.encode(errors="surrogateescape")  # as it was read, in another encoding, too
    return struct.pack(">i", len(encoded)) + encoded


def _kind(value: Any) -> int:
    match value:
        case bool():
            return _BOOL
        case Sized():
            return value.kind
        case int():
            return _I32
        case float():
            return _DOUBLE
        case str():
            return _STRING
        case Struct():
            return _STRUCT
        case dict():
            return _MAP
        case set() | frozenset():
            return _SET
        case _:
            return _LIST


def _bytes_of(value: Any) -> bytes:
    kind = _kind(value)
    match kind:
        case 2:
            return b"\x01" if value else b"\x00"
        case 11:
            return _text(value)
        case 12:
            fields = ((number, field) for number, field in value.items() if field is not None)
            return b"".join(struct.pack(">bh", _kind(f), n) + _bytes_of(f) for n, f in fields) + b"\x00"
        case 13:
            key, inner = next(((_kind(k), _kind(v)) for k, v in value.items()), (_STRING, _STRING))
            pairs = b"".join(_bytes_of(k) + _bytes_of(v) for k, v in value.items())
            return struct.pack(">bbi", key, inner, len(value)) + pairs
        case 14 | 15:
            inner = next(map(_kind, value), _STRING)
            return struct.pack(">bi", inner, len(value)) + b"".join(map(_bytes_of, value))
        case _:
            return struct.pack(_NUMBERS[kind], value)


def _read(kind: int, read: Read, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise ProtocolError(f"the answer has values in more than {_DEEPEST} others")
    match kind:
        case 2:
            return read(1) != b"\x00"
        case 11:
            [length] = struct.unpack(">i", read(4))
            if not 0 <= length <= _MOST_BYTES:
                raise ProtocolError(f"the answer has a text of {length} bytes")
            return read(length).decode(errors="surrogateescape") if length else ""
        case 12:
            found = Struct()
            while field := read(1)[0]:
                [number] = struct.unpack(">h", read(2))
                found[number] = _read(field, read, depth + 1)
            return found
        case 13:
            key, inner, length = struct.unpack(">bbi", read(6))
            return {_read_key(key, read, depth + 1): _read(inner, read, depth + 1) for _ in _items(length)}
        case 14 | 15:
            inner, length = struct.unpack(">bi", read(5))
            if kind == _SET:
                return frozenset(_read_key(inner, read, depth + 1) for _ in _items(length))
            return [_read(inner, read, depth + 1) for _ in _items(length)]
        case _ if kind in _NUMBERS:
            [value] = struct.unpack(_NUMBERS[kind], read(struct.calcsize(_NUMBERS[kind])))
            return value if kind in {_I32, _DOUBLE} else Sized(value, kind)
        case _:
            raise ProtocolError(f"the answer has a value of the unknown type {kind}")


def _read_key(kind: int, read: Read, depth: int) -> Any:
    value = _read(kind, read, depth)
    if kind == _LIST:
        value = tuple(value)
    try:
        hash(value)
    except TypeError:
        raise ProtocolError(f"the answer has a key of the type {kind}") from None
    return value


def _items(length: int) -> range:
    if not 0 <= length <= _MOST_BYTES:
        raise ProtocolError(f"the answer has a list of {length} items")
    return range(length)
