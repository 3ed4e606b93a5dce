"""The size of what Spark is given for a wide CSV file."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import IntegerType, StructField, StructType

from penstock.spark.sources.auto_loader.formats.csv_records import same_header_rows
from penstock.spark.sources.auto_loader.options.read_options import parse_options
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.stream_read import StreamRead


class _Written(list[str]):
    """Notes the expressions that a DataFrame would get."""

    def where(self, condition: str) -> _Written:
        return _Written([*self, condition])

    def selectExpr(self, *columns: str) -> _Written:  # noqa: N802 - as Spark spells it
        return _Written([*self, *columns])


def test_a_line_is_parsed_by_one_expression_for_all_typed_columns() -> None:
    read = {"cloudFiles.format": "csv", "cloudFiles.schemaEvolutionMode": "addNewColumnsWithTypeWidening"}
    options = parse_options(StreamRead("cloudFiles", read, None, "somewhere"))
    names = tuple(f"c{number}" for number in range(2000))
    columns = StructType([StructField(name, IntegerType()) for name in names])
    version = SchemaVersion(1, columns, StructType(), "", csv_headers=(names,))
    rows: Any = _Written()
    written: Any = same_header_rows(rows, version, options, "source")
    assert sum(each.count("from_csv(") for each in written) == 2  # one for the filter, one for the rescued data
    assert sum(map(len, written)) < 5_000_000
