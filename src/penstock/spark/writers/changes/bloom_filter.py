"""A Bloom filter of the values of a few rows: which rows of a large table may have one of them, without a join."""

from __future__ import annotations

import math
from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf

from penstock.spark import _jvm

FALSE_POSITIVES: Final = 0.01
"""About how many of the other values a filter takes for one of its own."""

_BLOOM_FILTER = "org.apache.spark.util.sketch.BloomFilter"


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
