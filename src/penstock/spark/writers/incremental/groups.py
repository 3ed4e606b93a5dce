"""Groups whose new rows are merged into the view's own, when rows were only added to one input.

For the groups of R + d: sum(R + d) = sum(R) + sum(d), count likewise, min(R + d) = least(min(R), min(d)), max likewise,
where NULL, the sum or extreme of nothing, gives way to the other; an average follows from its sum and count. So the
view itself is the state, and only d is aggregated. A sum of floating-point numbers depends on their order, here as in
any two runs of Spark. It is not done without ANSI mode, in which a sum that overflows is NULL as well.
What was removed takes more than this: see `signed`.
(Source: Gray et al.: Data Cube, 1997, on distributive functions.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.writers.incremental.averages import Average, average_of, count_of, counts_rows
from penstock.spark.writers.incremental.linear import Inputs, rebuilt
from penstock.spark.writers.incremental.plans import kind_of, project
from penstock.spark.writers.incremental.shape import Changes, Node, Operator, obstacle

DISTRIBUTIVE: Final[Mapping[str, Callable[[Column], Column]]] = {
    "sum": sf.sum,
    "count": sf.sum,
    "min": sf.min,
    "max": sf.max,
}
"""What makes the value of a whole from those of its parts, by the name of the aggregate function."""

_EXACT: Final = frozenset({"tinyint", "smallint", "int", "bigint", "decimal"})


@dataclass(frozen=True, slots=True)
class MergedColumns:
    """The columns by which a view is grouped, the aggregate functions of others, and averages that follow from them.

    `counts` are, by the name of a sum, the column that counts its values, where the view has it; `rows` is the column
    that counts all rows of a group. `exact` says that no sum is one of floating-point numbers or intervals.
    """

    keys: tuple[str, ...]
    functions: Mapping[str, str]
    averages: Mapping[str, Average]
    counts: Mapping[str, str]
    rows: str | None
    exact: bool

    @property
    def takes_back(self) -> bool:
        """Whether values of the view follow from rows that were removed, too, for some groups at least."""
        return self.exact and (bool(self.functions) or not self.keys)

    def averaged(self, folded: Mapping[str, Column], spark: SparkSession) -> dict[str, Column]:
        """Returns the averages of groups, from the other values of them."""
        return {
            name: average.of(folded[average.total], folded[average.count], spark)
            for name, average in self.averages.items()
        }


def merged_columns(node: Node, changes: Changes) -> MergedColumns | None:
    """Returns how the rows of a query are merged; None when it is not a plain aggregation over a linear query."""
    if node.operator is not Operator.GROUPS or obstacle(node.children[0], changes) is not None:
        return None
    keys, aggregates = [], {}
    grouped = _jvm.scala_seq(node.plan.groupingExpressions())
    missing = list(grouped)
    for named in _jvm.scala_seq(node.plan.aggregateExpressions()):
        expression = named.child() if kind_of(named) == "Alias" else named
        name = str(named.name())
        if any(expression.semanticEquals(each) for each in grouped):
            keys.append(name)
            missing = [each for each in missing if not expression.semanticEquals(each)]
        elif kind_of(expression) == "AggregateExpression" and not expression.isDistinct():
            aggregates[name] = expression
        else:
            return None
    distinct = {name.casefold() for name in (*keys, *aggregates)}
    if missing or len(distinct) < len(keys) + len(aggregates):
        return None
    named = {name: str(each.aggregateFunction().prettyName()) for name, each in aggregates.items()}
    functions = {name: function for name, function in named.items() if function in DISTRIBUTIVE}
    averages = {name: average_of(aggregates[name], aggregates) for name in named.keys() - functions.keys()}
    found = {name: each for name, each in averages.items() if each is not None}
    if len(found) < len(averages):
        return None
    sums = {name: each for name, each in aggregates.items() if functions.get(name) == "sum"}
    counts = {name: count_of(each, aggregates) for name, each in sums.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    rows = next((name for name, each in aggregates.items() if counts_rows(each)), None)
    types = [str(each.aggregateFunction().child().dataType().catalogString()) for each in sums.values()]
    exact = all(each.partition("(")[0] in _EXACT for each in types)
    return MergedColumns(tuple(keys), functions, found, known, rows, exact)


def rows_of_added(query: Node, inputs: Inputs) -> DataFrame:
    """Returns the rows of a query over what was added to the tables that have changed."""

    def added(table: Node) -> Any:
        columns = _jvm.scala_seq(table.plan.output())
        return project(inputs.spark, columns, inputs.change(table)) if inputs.changed(table) else inputs.now(table)

    # The rows of a union's other inputs are in the view already.
    plan = rebuilt(query, inputs.spark, added, lambda child: child.reads(inputs.changed))
    return _jvm.frame_of(inputs.spark, plan)


def merged_rows(stored: DataFrame, added: DataFrame, merged: MergedColumns) -> DataFrame:
    """Returns all rows of the view: those that are stored with those of its query over what was added."""
    together = stored.unionByName(added).groupBy(*(sf.col(quoted(key)) for key in merged.keys))
    values = [
        DISTRIBUTIVE[function](sf.col(quoted(name))).cast(stored.schema[name].dataType).alias(name)
        for name, function in merged.functions.items()
    ]
    rows = together.agg(*values) if values else stored.unionByName(added).distinct()
    columns = {name: sf.col(quoted(name)) for name in stored.columns}
    averages = merged.averaged(columns, stored.sparkSession)
    return rows.select(*(averages.get(name, column).alias(name) for name, column in columns.items()))


def is_added_once(node: Node, changes: Changes) -> bool:
    """Whether `rows_of_added` are all new rows: no join has changes on both of its sides."""
    joins = (each for each in node.walk() if each.operator is Operator.JOIN)
    return not any(all(side.reads(changes) for side in join.children) for join in joins)
