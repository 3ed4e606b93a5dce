"""What a newer writer has that the reader has not, and what would be read as something else."""

from __future__ import annotations

from typing import Any

import pytest
from fastavro import parse_schema

from penstock.connectors.schema_registry.avro_resolution import Comparison
from penstock.connectors.schema_registry.wire_format import Undecodable


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


def left_out(writer: Any, reader: Any) -> tuple[str, ...]:
    names: list[dict[str, Any]] = [{}, {}]
    parsed: list[Any] = [parse_schema(each, of) for each, of in zip((writer, reader), names, strict=True)]
    return Comparison(*names).left_out(*parsed)


def test_fields_that_only_the_writer_has_at_any_depth() -> None:
    less, more = record("In", a="int"), record("In", a="int", b="int")
    assert left_out(record("R", x="int", y="int"), record("R", x="long", z="int")) == ("y",)
    for wrap in (
        lambda kind: kind,
        lambda kind: ["null", kind],
        lambda kind: {"type": "array", "items": kind},
        lambda kind: {"type": "map", "values": ["null", kind]},
        lambda kind: record("Between", w=kind),
    ):
        assert left_out(record("R", x="int", i=wrap(more)), record("R", x="int", i=wrap(less))) == ("i",)
        assert left_out(record("R", i=wrap(less)), record("R", i=wrap(less))) == ()


def test_an_alias_is_a_place() -> None:
    reader = record("R", new="int")
    reader["fields"][0]["aliases"] = ["old"]
    assert left_out(record("R", old="int"), reader) == ()


def test_a_writer_that_holds_itself() -> None:
    writer = record("R", x="int", more=["null", "R"])
    assert left_out(writer, record("R", x="int")) == ("more",)


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, {"scale": 3}),
        ({"type": "long", "logicalType": "timestamp-millis"}, {"logicalType": "timestamp-micros"}),
    ],
)
def test_the_same_bytes_with_another_meaning_are_not_read(writer: dict[str, Any], reader: dict[str, Any]) -> None:
    for wrap in (lambda kind: kind, lambda kind: ["null", kind], lambda kind: record("Between", w=kind)):
        with pytest.raises(Undecodable, match="where the reader's has"):
            left_out(record("R", new="int", x=wrap(writer)), record("R", x=wrap(writer | reader)))
