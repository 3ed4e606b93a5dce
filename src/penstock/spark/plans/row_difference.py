"""Which rows only one of two results has, and how many times more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.plans.comparable import as_comparable

_LEFT: Final = "_penstock_left"
_RIGHT: Final = "_penstock_right"


@dataclass(frozen=True, slots=True)
class DifferentRow:
    """A row that one side has so many `times` more; `in_left` says which. A value that cannot be compared is JSON."""

    in_left: bool
    times: int
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RowDifference:
    """How two results compare, each row as often as it is there.

    `rows` are the first ones of the difference by the values of their `columns`. `only_left` and `only_right` count all
    of them.
    """

    columns: tuple[str, ...]
    equal: int
    only_left: int
    only_right: int
    rows: tuple[DifferentRow, ...]

    @property
    def same(self) -> bool:
        """Whether both have the same rows."""
        return not (self.only_left or self.only_right)


def compare_rows(left: DataFrame, right: DataFrame, *, limit: int) -> RowDifference:
    """Compares two results without regard to order. Columns are paired by name; one that is missing counts as NULL.

    Args:
        left: executed once.
        right: executed once.
        limit: how many different rows are returned.

    Raises:
        PySparkException: columns of one name have types that do not go together.
    """
    one, none = sf.lit(1).cast("bigint"), sf.lit(0).cast("bigint")
    sides = left.select("*", one.alias(_LEFT), none.alias(_RIGHT))
    sides = sides.unionByName(right.select("*", none.alias(_LEFT), one.alias(_RIGHT)), allowMissingColumns=True)
    fields = [field for field in sides.schema if field.name not in {_LEFT, _RIGHT}]
    keys = [as_comparable(sf.col(quoted(each.name)), each.dataType).alias(each.name) for each in fields]
    counted = sides.groupBy(*keys).agg(sf.sum(_LEFT).alias(_LEFT), sf.sum(_RIGHT).alias(_RIGHT)).localCheckpoint()
    try:
        more, less = (sf.greatest(_surplus(side), none) for side in (1, -1))
        common = sf.least(_LEFT, _RIGHT)
        totals = counted.agg(*(sf.coalesce(sf.sum(each), none) for each in (common, more, less))).collect()[0]
        columns = [sf.col(quoted(each.name)) for each in fields]
        different = counted.where(_surplus(1) != 0).orderBy(*columns, sf.col(_LEFT).desc()).limit(limit)
        rows = different.select(*columns, _surplus(1).alias(_LEFT)).collect()
    finally:
        _jvm.release(counted)
    equal, only_left, only_right = totals
    return RowDifference(
        tuple(each.name for each in fields),
        equal,
        only_left,
        only_right,
        tuple(DifferentRow(row[-1] > 0, abs(row[-1]), tuple(row)[:-1]) for row in rows),
    )


def _surplus(sign: int) -> Column:
    return (sf.col(_LEFT) - sf.col(_RIGHT)) * sign
