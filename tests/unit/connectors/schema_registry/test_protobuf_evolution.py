"""What a newer writer's message has that the reader's has not, and what would be read as something else."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from penstock.connectors.schema_registry.protobuf_types import left_out
from penstock.connectors.schema_registry.wire_format import Undecodable

_F = FieldDescriptorProto


def message(inner: dict[str, int], *, many: bool = False, **fields: int) -> Descriptor:
    """R with `fields`, and with `i` of the message In, which has `inner` and itself."""
    file = FileDescriptorProto(name="r.proto", syntax="proto3")
    for name, all_fields in (("In", inner), ("R", fields)):
        made = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(all_fields.items(), 1):
            label = _F.LABEL_REPEATED if many and name == "R" else _F.LABEL_OPTIONAL
            made.field.add(name=field, number=number, type=kind, label=label)
        made.field.add(name="i", number=9, type=_F.TYPE_MESSAGE, type_name=".In", label=_F.LABEL_OPTIONAL)
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindMessageTypeByName("R")


def test_fields_that_only_the_writer_has_at_any_depth() -> None:
    one, two = {"a": _F.TYPE_INT32}, {"a": _F.TYPE_INT32, "b": _F.TYPE_INT32}
    assert left_out(message(one, **one), message(one, **two)) == ()
    assert left_out(message(one, **two), message(one, **one)) == ("b",)
    assert left_out(message(two, **two), message(one, **one)) == ("b", "i")


@pytest.mark.parametrize(
    ("writer", "reader", "fits"),
    [
        (_F.TYPE_INT32, _F.TYPE_INT64, True),
        (_F.TYPE_BOOL, _F.TYPE_INT32, True),
        (_F.TYPE_STRING, _F.TYPE_BYTES, True),
        (_F.TYPE_INT64, _F.TYPE_INT32, False),
        (_F.TYPE_INT32, _F.TYPE_SINT32, False),
        (_F.TYPE_INT32, _F.TYPE_STRING, False),
        (_F.TYPE_FIXED32, _F.TYPE_SFIXED32, False),
    ],
)
def test_a_type_that_is_read_as_another(writer: int, reader: int, fits: bool) -> None:
    if fits:
        assert left_out(message({}, x=writer), message({}, x=reader)) == ()
        return
    with pytest.raises(Undecodable, match="its field 1, x, is of another type"):
        left_out(message({}, x=writer), message({}, x=reader))


def test_of_several_values_one_would_be_left() -> None:
    with pytest.raises(Undecodable):
        left_out(message({}, many=True, x=_F.TYPE_INT32), message({}, x=_F.TYPE_INT32))
    assert left_out(message({}, x=_F.TYPE_INT32), message({}, many=True, x=_F.TYPE_INT32)) == ()
