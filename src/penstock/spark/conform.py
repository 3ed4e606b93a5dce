"""Rows in the columns that their table declares."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.graph.schema import Schema
from penstock.graph.sql_names import quoted


def conform(frame: DataFrame, schema: Schema) -> DataFrame:
    """Returns the columns of `schema` in its order, cast to its types; those that the query lacks are NULL.

    Columns that Delta generates are left to it unless the query has them.
    """
    own = {name.casefold(): name for name in frame.columns}
    wanted = StructType.fromJson(json.loads(schema.json))
    columns = []
    for field, column in zip(wanted, schema.columns, strict=True):
        name = own.get(field.name.casefold())
        if name is None and column.constrained:
            continue
        value = sf.lit(None) if name is None else frame[quoted(name)]
        metadata = {} if column.comment is None else {"comment": column.comment}
        columns.append(value.cast(field.dataType).alias(field.name, metadata=metadata))
    return frame.select(*columns)
