"""Messages in Protobuf: read by the numbers of their fields, with the writer's schema for what the reader lacks."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.protobuf.message import Error as ProtobufError
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql.types import StructType

from penstock.connectors.schema_registry.client import RegisteredSchema, SchemaRegistry
from penstock.connectors.schema_registry.decoding import Decoded
from penstock.connectors.schema_registry.protobuf_types import columns_of, left_out
from penstock.connectors.schema_registry.wire_format import Undecodable, Unsupported, Writers, message_indexes, split
from penstock.errors import DefinitionError

_KIND: Final = "PROTOBUF"
_UNKNOWN: Final = "_unknown_fields"
_FORM: Final = "serialized"  # descriptors instead of the text, which only a compiler understands
_GOOGLE: Final = (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)


def protobuf_decoder(
    registry: SchemaRegistry, subject: str, message_name: str | None, desc_file_path: str | None
) -> tuple[ProtobufDecoder, StructType]:
    """Returns what decodes messages, and their columns: those of a descriptor file, else of the newest of `subject`.

    Raises:
        DefinitionError: SCHEMA_UNSUPPORTED.
        SourceFailure: those of the registry.
    """
    try:
        files = _newest(registry, subject) if desc_file_path is None else _files_of(desc_file_path)
        decoder = ProtobufDecoder(registry, files, message_name)
        return decoder, columns_of(decoder.message())[0]
    except Unsupported as error:
        raise DefinitionError("SCHEMA_UNSUPPORTED", detail=str(error)) from error


@dataclass(frozen=True, slots=True)
class ProtobufDecoder:
    """Reads messages as `message_name`; without a name, as the first message of the last of `files`.

    Each of these is the descriptor of a file, in bytes, and needs only earlier ones.
    """

    registry: SchemaRegistry
    files: tuple[bytes, ...]
    message_name: str | None

    def opened(self) -> Callable[[bytes], Decoded]:
        """Returns what decodes one message."""
        return _Messages(self.registry, self.message()).decode

    def message(self) -> Descriptor:
        """Returns the message that is read.

        Raises:
            Unsupported: there is none.
        """
        pool, last = _pool(self.files)
        if self.message_name is None:
            return _at(pool, last, (0,))
        names = {self.message_name, f"{last.package}.{self.message_name}"}
        for name in names:
            try:
                return pool.FindMessageTypeByName(name)
            except KeyError:
                continue
        raise Unsupported(f"there is no message {self.message_name}")


@dataclass(slots=True)
class _Writer:
    """A file of messages; `fields` are those of each message, by its indexes, that the reader has no place for."""

    pool: DescriptorPool
    file: descriptor_pb2.FileDescriptorProto
    reading: dict[tuple[int, ...], tuple[Any, tuple[str, ...]] | Undecodable]


class _Messages:
    def __init__(self, registry: SchemaRegistry, reader: Descriptor) -> None:
        self._reader = reader
        self._parse = GetMessageClass(reader).FromString
        self._row = columns_of(reader)[1]
        self._writers = Writers(registry, _KIND, _prepared, _FORM)

    def decode(self, message: bytes) -> Decoded:
        number, rest = split(message)
        writer = self._writers.of(number)
        indexes, payload = message_indexes(rest)
        known = writer.reading.get(indexes)
        if known is None:
            known = writer.reading[indexes] = self._compared(writer, indexes)
        if isinstance(known, Undecodable):
            raise known
        of_writer, fields = known
        try:
            message = self._parse(payload)
            row = self._row(message)
            return Decoded(row, _left_out(of_writer.FromString(payload) if fields else message, fields, payload))
        except DecodeError as error:
            raise Undecodable(f"DecodeError: {error}") from error

    def _compared(self, writer: _Writer, indexes: tuple[int, ...]) -> tuple[Any, tuple[str, ...]] | Undecodable:
        try:
            message = _at(writer.pool, writer.file, indexes)
        except Unsupported as error:
            return Undecodable(str(error))
        if message.full_name != self._reader.full_name:
            return Undecodable(f"it is a {message.full_name}, not a {self._reader.full_name}")
        try:
            return GetMessageClass(message), left_out(message, self._reader)
        except Undecodable as error:
            return error


def _left_out(message: Any, fields: tuple[str, ...], payload: bytes) -> str | None:
    found: dict[str, Any] = {}
    if fields:
        values: Mapping[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
        found = {name: values[name] for name in fields if name in values}
    size = message.ByteSize()
    message.DiscardUnknownFields()  # at any depth, and quicker than a search
    if message.ByteSize() != size:  # no schema names them: what they are is unknown, so all of the message is kept
        found[_UNKNOWN] = base64.b64encode(payload).decode("ascii")
    return json.dumps(found) if found else None


def _prepared(schema: RegisteredSchema) -> _Writer:
    try:
        return _Writer(*_pool(_files(schema)), {})
    except Unsupported as error:
        raise Undecodable(str(error)) from error


def _files(schema: RegisteredSchema) -> tuple[bytes, ...]:
    files = []
    for name, text in (*schema.references, ("", schema.text)):
        try:
            file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
        except (DecodeError, binascii.Error) as error:
            raise Unsupported(f"the registry does not give descriptors (format={_FORM})") from error
        file.name = name or file.name or "messages.proto"
        files.append(file.SerializeToString())
    return tuple(files)


def _newest(registry: SchemaRegistry, subject: str) -> tuple[bytes, ...]:
    found = registry.latest(subject, form=_FORM)
    if found.kind != _KIND:
        raise Unsupported(f"{subject} is of {found.kind}, not of {_KIND}")
    return _files(found)


def _files_of(path: str) -> tuple[bytes, ...]:
    try:
        found = descriptor_pb2.FileDescriptorSet.FromString(Path(path).read_bytes()).file
    except (DecodeError, OSError) as error:
        raise Unsupported(f"{path} is no descriptor file: {error}") from error
    if not found:
        raise Unsupported(f"{path} has no files")
    return tuple(file.SerializeToString() for file in found)


def _pool(files: tuple[bytes, ...]) -> tuple[DescriptorPool, descriptor_pb2.FileDescriptorProto]:
    """Returns the types of the files, and the last file."""
    pool = DescriptorPool()
    last = descriptor_pb2.FileDescriptorProto()
    for module in _GOOGLE:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    for file in files:
        last = descriptor_pb2.FileDescriptorProto.FromString(file)
        if any(last.name == module.DESCRIPTOR.name for module in _GOOGLE):
            continue
        try:
            pool.AddSerializedFile(file)
        except (TypeError, ProtobufError) as error:
            raise Unsupported(f"its descriptors do not fit together: {error}") from error
    return pool, last


def _at(pool: DescriptorPool, file: descriptor_pb2.FileDescriptorProto, indexes: tuple[int, ...]) -> Descriptor:
    names = [file.package] if file.package else []
    messages = file.message_type
    for index in indexes:
        if not 0 <= index < len(messages):
            raise Unsupported(f"its file has no message {indexes}")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return pool.FindMessageTypeByName(".".join(names))
