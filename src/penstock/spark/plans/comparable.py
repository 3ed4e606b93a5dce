"""Which values Spark can compare, and the others as text."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType


def comparable(data_type: DataType) -> bool:
    """Whether Spark can say that two values of the type are equal."""
    match data_type:
        case MapType() | VariantType():
            return False
        case ArrayType():
            return comparable(data_type.elementType)
        case StructType():
            return all(comparable(field.dataType) for field in data_type)
        case _:
            return True


def as_comparable(value: Column, data_type: DataType) -> Column:
    """Returns a value of the type, or a text that is the same for equal ones."""
    return value if comparable(data_type) else sf.to_json(sf.struct(value))
