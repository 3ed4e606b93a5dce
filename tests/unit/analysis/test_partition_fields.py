"""Which columns a table is partitioned by when its author names fields of structs."""

from __future__ import annotations

import pytest
from pyspark.sql.types import DateType, LongType, StructType, TimestampType

from penstock.analysis.table_layout import with_partition_fields
from penstock.errors import SourceLocation
from penstock.graph.elements import StreamingTable
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema

_WINDOW = StructType().add("start", TimestampType()).add("a b", StructType().add("c", DateType()))
_COLUMNS = StructType().add("id", LongType()).add("window", _WINDOW).add("window.end", DateType()).add("w", LongType())


@pytest.mark.parametrize(
    ("given", "columns", "generated"),
    [
        (["id"], ["id"], {}),
        (["window.start", "id"], ["window_start", "id"], {"window_start": ("timestamp", "`window`.`start`")}),
        (["WINDOW.Start"], ["window_start"], {"window_start": ("timestamp", "`window`.`start`")}),
        (["window.a b.c"], ["window_a b_c"], {"window_a b_c": ("date", "`window`.`a b`.`c`")}),
        (["window.end"], ["window.end"], {}),  # a column of that very name
        (["window.id"], ["window.id"], {}),  # no such field: a rule refuses it
        (["window.a b"], ["window.a b"], {}),  # a struct
        (["id.start"], ["id.start"], {}),
    ],
)
def test_fields_become_generated_columns(
    given: list[str], columns: list[str], generated: dict[str, tuple[str, str]]
) -> None:
    schema = Schema(_COLUMNS.json())
    table = StreamingTable(
        identifier=Identifier("shop", "hours"), location=SourceLocation("a.py", 1), partition_columns=tuple(given)
    )
    decided, stored = with_partition_fields(table, schema)
    assert list(decided.partition_columns) == columns
    assert {column.name: (column.type, column.generated) for column in stored.columns[4:]} == generated
    assert stored.columns[:4] == schema.columns


def test_a_column_of_the_query_is_taken() -> None:
    schema = Schema(StructType().add("window", _WINDOW).add("Window_Start", TimestampType()).json())
    table = StreamingTable(
        identifier=Identifier("shop", "hours"), location=SourceLocation("a.py", 1), partition_columns=("window.start",)
    )
    decided, stored = with_partition_fields(table, schema)
    assert decided.partition_columns == ("window_start",)
    assert stored is schema
