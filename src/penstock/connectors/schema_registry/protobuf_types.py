"""Which columns a message of Protobuf means, how its values become theirs, and what a writer has that they have not.

Protobuf goes by the numbers of fields and passes over what it does not know, or what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

from penstock.connectors.schema_registry.wire_format import Undecodable, Unsupported

Convert = Callable[[Any], Any]

_TIMESTAMP: Final = "google.protobuf.Timestamp"
_UNSIGNED: Final = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_SCALARS: Final[Mapping[int, T.DataType]] = {
    FieldDescriptor.CPPTYPE_INT32: T.IntegerType(),
    FieldDescriptor.CPPTYPE_INT64: T.LongType(),
    FieldDescriptor.CPPTYPE_UINT32: T.LongType(),
    FieldDescriptor.CPPTYPE_UINT64: T.DecimalType(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: T.DoubleType(),
    FieldDescriptor.CPPTYPE_FLOAT: T.FloatType(),
    FieldDescriptor.CPPTYPE_BOOL: T.BooleanType(),
}

_F: Final = FieldDescriptor
_WIDENED: Final = frozenset(
    {
        (_F.TYPE_INT32, _F.TYPE_INT64),
        (_F.TYPE_UINT32, _F.TYPE_UINT64),
        (_F.TYPE_UINT32, _F.TYPE_INT64),
        (_F.TYPE_SINT32, _F.TYPE_SINT64),
        (_F.TYPE_ENUM, _F.TYPE_INT32),
        (_F.TYPE_ENUM, _F.TYPE_INT64),
        (_F.TYPE_INT32, _F.TYPE_ENUM),
        *((_F.TYPE_BOOL, kind) for kind in (_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64)),
        (_F.TYPE_STRING, _F.TYPE_BYTES),
        (_F.TYPE_BYTES, _F.TYPE_STRING),
    }
)
"""From which type of the writer to which of the reader each value comes through unchanged."""


def columns_of(message: Descriptor) -> tuple[T.StructType, Convert]:
    """Returns the columns of a message, and what makes a row of one.

    A field without a value is NULL where Protobuf knows that, else what Protobuf reads then: 0, an empty text.

    Raises:
        Unsupported: it holds itself, or has no fields.
    """
    return _struct(message, ())


def is_map(field: FieldDescriptor) -> bool:
    """Returns whether a field is a map; Protobuf has it as repeated entries."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _struct(message: Descriptor, inside: tuple[str, ...]) -> tuple[T.StructType, Convert]:
    if message.full_name in inside:
        raise Unsupported(f"the message {message.full_name} holds itself")
    if not message.fields:
        raise Unsupported(f"the message {message.full_name} has no fields")
    fields = []
    readers: list[tuple[str, bool, Convert | None]] = []
    for field in message.fields:
        kind, convert = _type(field, (*inside, message.full_name))
        fields.append(T.StructField(field.name, kind))
        readers.append((field.name, field.has_presence, convert))

    def row(message: Message) -> dict[str, Any]:
        found = {}
        for name, has_presence, convert in readers:
            if not has_presence or message.HasField(name):
                value = getattr(message, name)
                found[name] = value if convert is None else convert(value)
        return found

    return T.StructType(fields), row


def _type(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[T.DataType, Convert | None]:
    if is_map(field):
        entry = field.message_type.fields_by_name
        key, of_key = _single(entry["key"], inside)
        value, of_value = _single(entry["value"], inside)
        return T.MapType(key, value), _entries(of_key or _same, of_value or _same)
    kind, convert = _single(field, inside)
    if field.is_repeated:
        return T.ArrayType(kind), list if convert is None else _each(convert)
    return kind, convert


def _single(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[T.DataType, Convert | None]:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return T.TimestampType(), lambda time: time.seconds * 1_000_000 + time.nanos // 1000
        return _struct(field.message_type, inside)
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        # A number that the schema does not know is kept as its digits.
        return T.StringType(), lambda number: names.get(number) or str(number)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return (T.BinaryType() if field.type == FieldDescriptor.TYPE_BYTES else T.StringType()), None
    return _SCALARS[field.cpp_type], Decimal if field.type in _UNSIGNED else None


def _same(value: Any) -> Any:
    return value


def _each(convert: Convert) -> Convert:
    return lambda values: [convert(value) for value in values]


def _entries(of_key: Convert, of_value: Convert) -> Convert:
    return lambda values: [(of_key(key), of_value(value)) for key, value in values.items()]


def left_out(writer: Descriptor, reader: Descriptor) -> tuple[str, ...]:
    """Returns the fields of the writer's message of which something finds no place in the reader's.

    Raises:
        Undecodable: a field would be read as something else.
    """
    return _left_out(writer, reader, ())


def _left_out(writer: Descriptor, reader: Descriptor, inside: tuple[str, ...]) -> tuple[str, ...]:
    if writer.full_name in inside:
        return ()
    known = reader.fields_by_number
    deeper = (*inside, writer.full_name)
    return tuple(
        field.name
        for field in writer.fields
        if field.number not in known or _has_more(field, known[field.number], deeper)
    )


def _has_more(writer: FieldDescriptor, reader: FieldDescriptor, inside: tuple[str, ...]) -> bool:
    fits = writer.type == reader.type or (writer.type, reader.type) in _WIDENED
    if not fits or (writer.is_repeated and not reader.is_repeated):
        raise Undecodable(f"its field {writer.number}, {writer.name}, is of another type than the reader's")
    if writer.message_type is None or reader.message_type is None:
        return False
    return bool(_left_out(writer.message_type, reader.message_type, inside))
