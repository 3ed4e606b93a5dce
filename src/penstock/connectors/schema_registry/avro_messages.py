"""Messages in Avro: each resolved from the schema that it was written with to the one that is read."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

from pyspark.sql.types import StructType

from penstock.connectors.schema_registry.avro_resolution import Comparison
from penstock.connectors.schema_registry.avro_types import columns_of
from penstock.connectors.schema_registry.client import RegisteredSchema, SchemaRegistry
from penstock.connectors.schema_registry.decoding import Decoded
from penstock.connectors.schema_registry.wire_format import Undecodable, Unsupported, Writers, split
from penstock.errors import DefinitionError
from penstock.spark.failures.python_sources import SourceFailure

_KIND: Final = "AVRO"


def avro_decoder(registry: SchemaRegistry, subject: str, schema: str | None) -> tuple[AvroDecoder, StructType]:
    """Returns what decodes messages, and their columns: those of `schema`, else of the newest one of `subject`.

    Raises:
        DefinitionError: SCHEMA_UNSUPPORTED.
        SourceFailure: AVRO_NOT_INSTALLED, and those of the registry.
    """
    reader = registry.latest(subject) if schema is None else RegisteredSchema(_KIND, schema)
    if reader.kind != _KIND:
        raise DefinitionError("SCHEMA_UNSUPPORTED", detail=f"{subject} is of {reader.kind}, not of {_KIND}")
    try:
        columns, _ = columns_of(*_parsed(reader))
    except Unsupported as error:
        raise DefinitionError("SCHEMA_UNSUPPORTED", detail=str(error)) from error
    return AvroDecoder(registry, reader), columns


@dataclass(frozen=True, slots=True)
class AvroDecoder:
    """Reads messages as records of `reader`, whatever schema they were written with."""

    registry: SchemaRegistry
    reader: RegisteredSchema

    def opened(self) -> Callable[[bytes], Decoded]:
        """Returns what decodes one message.

        Raises:
            SourceFailure: AVRO_NOT_INSTALLED.
        """
        return _Messages(self.registry, self.reader).decode


@dataclass(slots=True)
class _Writer:
    """A schema that messages were written with; `resolved` is None when it is the reader's."""

    plain: Any
    resolved: Any
    left_out: tuple[str, ...]


class _Messages:
    def __init__(self, registry: SchemaRegistry, reader: RegisteredSchema) -> None:
        self._reader = reader
        self._parsed, self._names = _parsed(reader)
        self._plain = _plain(reader)
        self._convert = columns_of(self._parsed, self._names)[1]
        self._writers = Writers(registry, _KIND, self._compared)

    def decode(self, message: bytes) -> Decoded:
        number, payload = split(message)
        writer = self._writers.of(number)
        record = _read(payload, writer.plain, writer.resolved)
        left_out = _left_out(payload, writer) if writer.left_out else None
        return Decoded(self._convert(record), left_out)

    def _compared(self, found: RegisteredSchema) -> _Writer:
        if found == self._reader:
            return _Writer(self._plain, None, ())
        try:
            parsed, names = _parsed(found)
        except DefinitionError as error:
            raise Undecodable(error.facts["detail"]) from error
        if not isinstance(parsed, dict) or parsed["type"] != "record":
            raise Undecodable("it is not of a record")
        return _Writer(_plain(found), self._plain, Comparison(names, self._names).left_out(parsed, self._parsed))


def _read(payload: bytes, writer: Any, reader: Any) -> Any:
    from fastavro import schemaless_reader

    stream = BytesIO(payload)
    try:
        record = schemaless_reader(stream, writer, reader)
    except Exception as error:  # fastavro raises whatever the bytes lead it to
        raise Undecodable(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
    if stream.tell() != len(payload):
        raise Undecodable(f"{len(payload) - stream.tell()} bytes are left over")
    return record


def _left_out(payload: bytes, writer: _Writer) -> str | None:
    record = _read(payload, writer.plain, None)
    found = {name: record[name] for name in writer.left_out if record[name] is not None}
    return json.dumps(found, default=lambda data: base64.b64encode(data).decode()) if found else None


def _parsed(schema: RegisteredSchema) -> tuple[Any, dict[str, Any]]:
    """Returns the schema as fastavro parses it, and the types that it names.

    Raises:
        DefinitionError: SCHEMA_UNSUPPORTED.
        SourceFailure: AVRO_NOT_INSTALLED.
    """
    return _parse(schema, lambda document: document)


def _plain(schema: RegisteredSchema) -> Any:
    """Returns the schema without logical types, whose values Python would not all have a place for."""
    return _parse(schema, _without_meaning)[0]


def _parse(schema: RegisteredSchema, changed: Callable[[Any], Any]) -> tuple[Any, dict[str, Any]]:
    try:
        from fastavro import parse_schema
    except ImportError:
        raise SourceFailure("AVRO_NOT_INSTALLED") from None
    names: dict[str, Any] = {}
    try:
        for _, text in schema.references:
            parse_schema(changed(json.loads(text)), named_schemas=names)
        return parse_schema(changed(json.loads(schema.text)), named_schemas=names), names
    except Exception as error:  # a document that is no schema fails anywhere
        detail = f"it is no Avro schema: {type(error).__name__}: {error}"
        raise DefinitionError("SCHEMA_UNSUPPORTED", detail=detail) from error


def _without_meaning(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _without_meaning(value) for key, value in document.items() if key != "logicalType"}
    return [_without_meaning(each) for each in document] if isinstance(document, list) else document
