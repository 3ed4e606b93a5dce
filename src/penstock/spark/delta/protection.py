"""The view of a protected table that readers get."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType

from penstock.graph.protection import Protection
from penstock.graph.sql.names import quoted
from penstock.spark.delta.conform import cast_by_name


def protect(frame: DataFrame, protection: Protection) -> DataFrame:
    """Returns the rows for which the filter is TRUE, with masks in place of values; the schema stays.

    The filter sees the values, not the masks.

    Raises:
        AnalysisException: a function or a column does not exist, or the filter is no condition.
    """
    if protection.row_filter is not None:
        frame = frame.where(sf.expr(protection.row_filter))
    masks = {column.casefold(): expression for column, expression in protection.masks.items()}
    return frame.select(
        *(
            _masked(frame, masks[field.name.casefold()], field.dataType).alias(field.name)
            if field.name.casefold() in masks
            else sf.col(quoted(field.name))
            for field in frame.schema
        )
    )


def _masked(frame: DataFrame, mask: str, kind: DataType) -> Column:
    return cast_by_name(sf.expr(mask), frame.select(sf.expr(mask)).schema[0].dataType, kind)
