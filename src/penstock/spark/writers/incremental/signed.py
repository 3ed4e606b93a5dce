"""Groups whose values follow from rows that were added and rows that were removed.

The rows of a group are now R + a - r, a and r being what was added and removed. Both are aggregated; the view has R:

- count(R) + count(a) - count(r), and sum likewise, of integers and decimals: other sums would keep what they had lost.
- The sum of nothing is NULL, not 0: where the count of its values is not in the view, 0 may be either.
- min(R + a), when all of r is greater; else the least that is left is not in the view. max likewise.
- No rows are left when their count is 0; without it, a value that is left says that some are.

A group for which the view does not have the answer is open: it is computed again from its rows. As r may have rows that
are in a and not in R, R + a is what r is compared with.
(Sources: Gupta, Mumick, Subrahmanian: Maintaining Views Incrementally, 1993; Palpanas et al.: Incremental Maintenance
for Non-Distributive Aggregate Functions, 2002.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.writers.incremental.groups import DISTRIBUTIVE, MergedColumns
from penstock.spark.writers.incremental.inputs import VersionedInputs
from penstock.spark.writers.incremental.linear import changed_rows
from penstock.spark.writers.incremental.plans import all_same, also_grouped_by
from penstock.spark.writers.incremental.shape import Node
from penstock.spark.writers.incremental.touched import ReplacedRows, rows_of_keys

_SIGN: Final = "_penstock_sign"
_OPEN: Final = "_penstock_open"
_GONE: Final = "_penstock_gone"


@dataclass(frozen=True, slots=True)
class ChangedGroups:
    """The groups that were `touched`: the new `rows` of those that follow, and the keys of those that are `open`."""

    touched: ReplacedRows
    rows: DataFrame
    open: DataFrame

    def computed(self, query: Node, inputs: VersionedInputs) -> DataFrame:
        """Returns the new rows of all, those of open groups from the rows of the inputs."""
        output = {str(each.name()): each for each in _jvm.scala_seq(query.plan.output())}
        keys = [output[key] for key in self.touched.keys]
        return self.rows.unionByName(rows_of_keys(query, keys, self.open, inputs))


def changed_groups(query: Node, merged: MergedColumns, stored: DataFrame, inputs: VersionedInputs) -> ChangedGroups:
    """Returns the groups of a query with changed rows; `stored` are the rows of the view."""
    spark, plan = inputs.spark, query.plan
    names = [str(each.name()) for each in _jvm.scala_seq(plan.output())]
    numbered = {name: f"c{position}" for position, name in enumerate(names)}
    parts = also_grouped_by(spark, plan, inputs.weight, changed_rows(query.children[0], inputs))
    signed = _jvm.frame_of(spark, parts).toDF(*numbered.values(), _SIGN).localCheckpoint()
    keys = [numbered[key] for key in merged.keys]
    there = stored.select(*map(quoted, names)).toDF(*numbered.values())
    if keys:
        touched = signed.select(*keys).distinct()
        equal = all_same((there[each], touched[each]) for each in keys)
        there = there.join(sf.broadcast(touched), equal, "left_semi")
    together = there.withColumn(_SIGN, sf.lit(0).cast("bigint")).unionByName(signed)
    groups = _Values(merged, numbered, there).of_groups(together).localCheckpoint()
    of_keys = [sf.col(each).alias(f"k{position}") for position, each in enumerate(keys)]
    rows = groups.where(f"NOT {_OPEN} AND NOT {_GONE}").select(*numbered.values()).toDF(*names)
    return ChangedGroups(ReplacedRows(merged.keys, groups.select(*of_keys)), rows, groups.where(_OPEN).select(*of_keys))


@dataclass(frozen=True, slots=True)
class _Values:
    """How the columns of a view, `numbered` by their names, follow from their parts; `stored` has their types."""

    merged: MergedColumns
    numbered: dict[str, str]
    stored: DataFrame

    def of_groups(self, parts: DataFrame) -> DataFrame:
        """Returns a row for each group, and whether it is open or gone."""
        merged, numbered = self.merged, self.numbered
        keys = [numbered[key] for key in merged.keys]
        added_up = [each for name, function in merged.functions.items() for each in self._parts(name, function)]
        removed = sf.count_if(sf.col(_SIGN) < 0).alias("removed")
        wide = parts.groupBy(*keys).agg(removed, *added_up)
        values = {name: sf.col(each) for name, each in numbered.items()}
        for name, count in merged.counts.items():
            values[name] = sf.when(sf.col(numbered[count]) != 0, values[name])
        values |= merged.averaged(values, parts.sparkSession)
        known = {name: self._known(name, function) for name, function in merged.functions.items()}
        gone = sf.lit(False) if merged.rows is None or not keys else sf.col(numbered[merged.rows]) == 0
        follows = reduce(and_, known.values(), self._is_left(known) if keys else sf.lit(True))
        columns = [value.alias(numbered[name]) for name, value in values.items()]
        return wide.select(*columns, gone.alias(_GONE), sf.coalesce(~(gone | follows), sf.lit(True)).alias(_OPEN))

    def _parts(self, name: str, function: str) -> tuple[Column, Column]:
        """Returns the value of a group, and that of its removed rows, NULL or 0 without any."""
        column, kind = self.numbered[name], self.stored.schema[self.numbered[name]].dataType
        value, sign, of_all = sf.col(column), sf.col(_SIGN), DISTRIBUTIVE[function]
        removed = of_all(sf.when(sign < 0, value)).alias(f"removed_{column}")
        if function in {"min", "max"}:
            return of_all(sf.when(sign >= 0, value)).alias(column), removed
        return of_all(sf.when(sign < 0, -value).otherwise(value)).cast(kind).alias(column), removed

    def _known(self, name: str, function: str) -> Column:
        """Returns whether the new value of a group follows."""
        value, removed = sf.col(self.numbered[name]), sf.col(f"removed_{self.numbered[name]}")
        match function:
            case "count":
                return value >= 0
            case "sum" if name in self.merged.counts:
                return sf.lit(True)
            case "sum":
                return removed.isNull() | (value != 0)
            case "min":
                return removed.isNull() | (removed > value)
            case _:
                return removed.isNull() | (removed < value)

    def _is_left(self, known: dict[str, Column]) -> Column:
        """Returns whether a group certainly has rows; its values are `known`."""
        if self.merged.rows is not None:
            return sf.col(self.numbered[self.merged.rows]) > 0
        nothing = {"count": lambda value: value > 0, "sum": lambda value: value != 0}
        signs = [
            nothing.get(function, Column.isNotNull)(sf.col(self.numbered[name]))
            for name, function in self.merged.functions.items()
        ]
        return reduce(or_, (sf.coalesce(each, sf.lit(False)) for each in signs), sf.col("removed") == 0)
