"""Which rows of a table have a key of a batch, nearly: a condition that costs no join, but a Bloom filter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DateType, StructType, TimestampType

from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.delta.quick_append import is_plain
from penstock.spark.writers.changes.computed_rows import has_types

_Time = TimestampType | DateType

FALSE_POSITIVES: Final = 0.01
"""About how many of the other values a filter takes for one of its own."""

_BLOOM_FILTER = "org.apache.spark.util.sketch.BloomFilter"


def candidate_row_filter(keys: DataFrame, count: int, *, path: str) -> Column | None:
    """Returns a condition over a table's rows, as `t`: TRUE for all with one of the keys, and for few others.

    `keys` are `count` rows with the key columns only. Where times are among them, files whose times all lie before
    those of the batch are not read. None where equal keys can have different hashes: their types
    differ in the table, or are not plain. None also without a key, because a filter of nothing cannot be built.
    """
    spark = keys.sparkSession
    target = spark.read.format("delta").load(path)
    if count == 0 or not keys.columns or not is_plain(keys.schema) or not has_types(target.schema, keys.schema):
        return None
    times = dict(_times(keys.schema))
    [found] = keys.agg(
        bloom_filter(spark, sf.xxhash64(*(sf.col(quoted(name)) for name in keys.columns)), count),
        *(sf.struct(sf.min(_seconds(*time)), sf.count_if(sf.col(time[0]).isNull())) for time in times.items()),
    ).collect()
    hashed = sf.xxhash64(*(sf.col(f"t.{quoted(name)}") for name in keys.columns))
    bounds = (_not_before(*time, *bound) for time, bound in zip(times.items(), found[1:], strict=True))
    # In this order: a bound costs a row less than its hash.
    return reduce(and_, [*(each for each in bounds if each is not None), may_contain(spark, bytes(found[0]), hashed)])


def _not_before(name: str, kind: _Time, seconds: int | None, nulls: int) -> Column | None:
    """Returns that a time of `t` is not before the first one of the keys, or NULL as one of them; None for any time.

    The bound is a literal, because only those are compared with the largest value of a file. The generated code holds
    it, so it is a whole hour, which serves many batches.
    """
    if seconds is None or not _FIRST <= seconds <= _LAST:
        return None
    hour = _EPOCH + timedelta(seconds=seconds // 3600 * 3600)
    literal = f"DATE '{hour.date()}'" if isinstance(kind, DateType) else f"TIMESTAMP '{hour}'"
    return sf.expr(f"t.{name} >= {literal}" + (f" OR t.{name} IS NULL" if nulls else ""))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -(10**10), 10**11  # the years 1653 to 5138, which have literals


def _times(schema: StructType, parent: str = "") -> Iterator[tuple[str, _Time]]:
    for field in schema:
        name = parent + quoted(field.name)
        if isinstance(field.dataType, TimestampType | DateType):
            yield name, field.dataType
        elif isinstance(field.dataType, StructType):
            yield from _times(field.dataType, f"{name}.")


def _seconds(name: str, kind: _Time) -> Column:
    return sf.unix_date(name).cast("long") * 86_400 if isinstance(kind, DateType) else sf.unix_seconds(name)


def bloom_filter(spark: SparkSession, value: Column, expected: int) -> Column:
    """Returns an aggregate, BINARY: the filter of a BIGINT column with about `expected` different values."""
    expressions = _jvm.jvm(spark).org.apache.spark.sql.catalyst.expressions
    # The optimal number of bits: https://en.wikipedia.org/wiki/Bloom_filter#Optimal_number_of_hash_functions
    bits = math.ceil(-expected * math.log(FALSE_POSITIVES) / math.log(2) ** 2)
    numbers = (_jvm.expression_of(spark, sf.lit(each).cast("long")) for each in (expected, bits))
    function = expressions.aggregate.BloomFilterAggregate(_jvm.expression_of(spark, value), *numbers)
    return _jvm.column_of(spark, function.toAggregateExpression())


def may_contain(spark: SparkSession, bloom: bytes, value: Column) -> Column:
    """Returns whether a filter may contain a BIGINT; the filter is no part of the expression's text."""
    java = _jvm.jvm(spark)
    expressions = java.org.apache.spark.sql.catalyst.expressions
    # Its own class is not public, so that generated code could not name it.
    kind = java.org.apache.spark.sql.types.ObjectType(java.java.lang.Class.forName(_BLOOM_FILTER))
    literal = expressions.Literal(java.org.apache.spark.util.sketch.BloomFilter.readFrom(bloom), kind)
    nothing, arguments = _jvm.to_seq(spark, ()), _jvm.to_seq(spark, [_jvm.expression_of(spark, value)])
    boolean = java.org.apache.spark.sql.types.DataTypes.BooleanType
    call = expressions.objects.Invoke(literal, "mightContainLong", boolean, arguments, nothing, True, False, True)
    return _jvm.column_of(spark, call)
