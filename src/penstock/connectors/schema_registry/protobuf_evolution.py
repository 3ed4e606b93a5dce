"""What a writer's message has that a reader's has not, and what the two read differently.

Protobuf goes by the numbers of fields and passes over what it does not know, or what does not fit.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from penstock.connectors.schema_registry.wire_format import Undecodable

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
