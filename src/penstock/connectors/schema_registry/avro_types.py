"""Which columns an Avro schema means, as Spark's own reader of Avro has them, and how its values become theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any, Final

from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

from penstock.connectors.schema_registry.wire_format import Unsupported

Convert = Callable[[Any], Any]
"""Makes what Arrow takes for a column of what fastavro reads without logical types; None in its place: the same."""

_PRIMITIVES: Final[Mapping[str, T.DataType]] = {
    "null": T.NullType(),
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "bytes": T.BinaryType(),
    "string": T.StringType(),
    "fixed": T.BinaryType(),
    "enum": T.StringType(),
}
_LOGICAL: Final[Mapping[tuple[str, str], tuple[T.DataType, Convert | None]]] = {
    ("int", "date"): (T.DateType(), None),
    ("long", "timestamp-millis"): (T.TimestampType(), lambda value: value * 1000),
    ("long", "timestamp-micros"): (T.TimestampType(), None),
    ("long", "local-timestamp-millis"): (T.TimestampNTZType(), lambda value: value * 1000),
    ("long", "local-timestamp-micros"): (T.TimestampNTZType(), None),
}
_WIDER: Final[Mapping[frozenset[str], str]] = {
    frozenset({"int", "long"}): "long",
    frozenset({"float", "double"}): "double",
}
_EXACT: Final = Context(prec=76)


def columns_of(schema: Any, names: Mapping[str, Any]) -> tuple[T.StructType, Convert]:
    """Returns the columns of a parsed schema, and what makes them of a record; `names` are the types that it names.

    Raises:
        Unsupported: it is no record, refers to itself, or has a union of several types.
    """
    kind, convert = _type(schema, names, ())
    if not isinstance(kind, T.StructType) or convert is None:
        raise Unsupported("it is not a record")
    return kind, convert


def _type(schema: Any, names: Mapping[str, Any], inside: tuple[str, ...]) -> tuple[T.DataType, Convert | None]:
    if isinstance(schema, list):
        return _union(schema, names, inside)
    kind = schema if isinstance(schema, str) else schema["type"]
    if isinstance(kind, (dict, list)):
        return _type(kind, names, inside)
    match kind:
        case "record" | "error":
            return _record(schema, names, inside)
        case "array":
            element, convert = _type(schema["items"], names, inside)
            return T.ArrayType(element), None if convert is None else _each(convert)
        case "map":
            value, convert = _type(schema["values"], names, inside)
            return T.MapType(T.StringType(), value), _entries(convert)
        case _ if kind in names:
            return _type(names[kind], names, inside)
        case _:
            return _scalar(kind, schema if isinstance(schema, dict) else {})


def _scalar(kind: str, schema: Mapping[str, Any]) -> tuple[T.DataType, Convert | None]:
    logical = schema.get("logicalType")
    if logical == "decimal" and kind in {"bytes", "fixed"}:
        precision, scale = schema["precision"], schema.get("scale", 0)
        if precision > 38:
            raise Unsupported(f"a decimal of {precision} digits; Spark has 38 at most")
        return T.DecimalType(precision, scale), lambda value: _decimal(value, scale)
    return _LOGICAL.get((kind, str(logical)), (_PRIMITIVES[kind], None))


def _decimal(value: bytes, scale: int) -> Decimal:
    return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)


def _record(schema: Mapping[str, Any], names: Mapping[str, Any], inside: tuple[str, ...]) -> tuple[T.DataType, Convert]:
    name = schema["name"]
    if name in inside:
        raise Unsupported(f"the record {name} holds itself")
    fields = []
    converts: dict[str, Convert] = {}
    for field in schema["fields"]:
        kind, convert = _type(field["type"], names, (*inside, name))
        fields.append(T.StructField(field["name"], kind))
        if convert is not None:
            converts[field["name"]] = convert
    return T.StructType(fields), _fields(converts)


def _union(branches: list[Any], names: Mapping[str, Any], inside: tuple[str, ...]) -> tuple[T.DataType, Convert | None]:
    others = [branch for branch in branches if branch != "null"]
    if not others:
        return T.NullType(), None
    if len(others) == 1:
        return _type(others[0], names, inside)
    kinds = frozenset(branch for branch in others if isinstance(branch, str))
    if len(kinds) == len(others) and kinds in _WIDER:
        return _PRIMITIVES[_WIDER[kinds]], None
    raise Unsupported("a union of several types beside null")


def _fields(converts: Mapping[str, Convert]) -> Convert:
    def convert(record: dict[str, Any] | None) -> dict[str, Any] | None:
        if record is not None:
            for name, each in converts.items():
                if (value := record[name]) is not None:
                    record[name] = each(value)
        return record

    return convert


def _each(convert: Convert) -> Convert:
    return lambda values: [None if value is None else convert(value) for value in values]


def _entries(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda values: list(values.items())
    return lambda values: [(key, None if value is None else convert(value)) for key, value in values.items()]
