"""What becomes of the schema of an Auto Loader source, without Spark: new nested fields, hints for reserved columns."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StringType, StructField, StructType

from penstock.errors import DefinitionError
from penstock.spark.sources.auto_loader.options.hints import usable_hints
from penstock.spark.sources.auto_loader.options.read_options import parse_options
from penstock.spark.sources.auto_loader.schema.merge import has_fields, with_text_field
from penstock.spark.sources.stream_read import StreamRead

_JSON = {"cloudFiles.format": "json"}
_X = StructType([StructField("x", IntegerType())])


@pytest.mark.parametrize(
    ("kind", "grown"),
    [
        (_X, "struct<x:int,new:struct<a:string>>"),
        (ArrayType(ArrayType(_X)), "array<array<struct<x:int,new:struct<a:string>>>>"),
        (MapType(StringType(), _X), "map<string,struct<x:int,new:struct<a:string>>>"),
        (StringType(), "string"),
    ],
)
def test_a_field_is_added_inside_of_structs_arrays_and_maps(kind: DataType, grown: str) -> None:
    schema = StructType([StructField("top", kind)])
    assert with_text_field(schema, ("TOP", "new", "a"))["top"].dataType.simpleString() == grown
    assert has_fields(schema, [("top",), ("top", "X")])
    assert has_fields(schema, [("top", "y")]) == (kind == StringType())


def test_a_hint_for_the_rescued_data_column_changes_nothing_or_is_an_error() -> None:
    hints = "a DECIMAL(3,2), _Rescued_Data string, b.c INT"
    assert usable_hints(hints, "_rescued_data") == "a DECIMAL(3,2), b.c INT"
    assert usable_hints(hints, None) == hints
    assert usable_hints("_rescued_data STRING", "_rescued_data") is None
    for hint in ("_rescued_data INT", "`_rescued_data`.a STRING", "_metadata STRING"):
        with pytest.raises(DefinitionError) as error:
            parse_options(StreamRead("cloudFiles", {**_JSON, "cloudFiles.schemaHints": f"a INT, {hint}"}, path="in"))
        assert (error.value.condition, error.value.facts["hint"]) == ("AUTO_LOADER_SCHEMA_HINT_INVALID", hint)
