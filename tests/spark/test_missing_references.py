"""Rules on columns that a query renamed or dropped, against Spark's own `where` with the same rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.errors import SourceLocation
from penstock.graph.elements import Expectation, OnViolation
from penstock.graph.identifier import Identifier
from penstock.spark.expectations.observed import broken_rules, observe_expectations, with_judgements
from penstock.spark.expectations.quarantine import quarantine_rows

_RULE = "customer IS NOT NULL AND amount > 1"
_PLACE = SourceLocation("pipeline.py", 1)
_DATASET = Identifier("shop", "orders")

Shape = Callable[[DataFrame], DataFrame]
_RESOLVED: dict[str, Shape] = {
    "renamed": lambda rows: rows.withColumnRenamed("customer", "buyer"),
    "renamed twice": lambda rows: rows.withColumnRenamed("customer", "c").withColumnRenamed("c", "buyer"),
    "dropped": lambda rows: rows.drop("customer"),
    "both dropped": lambda rows: rows.drop("customer", "amount"),
    "selected": lambda rows: rows.select("id", "amount"),
    "alias": lambda rows: rows.select("id", (sf.col("amount") * 2).alias("amount"), sf.col("customer").alias("buyer")),
    "rename in another case": lambda rows: rows.withColumnRenamed("Customer", "buyer"),
    "filtered above": lambda rows: rows.drop("customer").where("id > 1"),
    "sorted above": lambda rows: rows.drop("customer").orderBy("id"),
    "limited": lambda rows: rows.orderBy("id").drop("customer").limit(4),
    "deduplicated by key": lambda rows: rows.drop("customer").dropDuplicates(["id"]),
    "distinct": lambda rows: rows.select("id", "amount").distinct(),
    "watermark": lambda rows: rows.withWatermark("time", "1 hour").drop("customer"),
    "window": lambda rows: rows.withColumn("w", sf.window("time", "1 hour")).drop("customer", "time"),
    "exploded": lambda rows: rows.select("amount", sf.explode(sf.array("id", "amount")).alias("n")),
    "joined": lambda rows: rows.join(rows.select(sf.col("id").alias("key")), sf.expr("id = key")).select("key"),
    "grouped by it": lambda rows: (
        rows.groupBy("customer", "amount").agg(sf.count("id").alias("n")).drop("customer", "amount")
    ),
    "hinted": lambda rows: rows.drop("customer").hint("rebalance"),
}
_NOT_RESOLVED: dict[str, Shape] = {
    "aggregated": lambda rows: rows.groupBy("id").agg(sf.count("amount").alias("n")),
    "union": lambda rows: rows.drop("customer").union(rows.drop("customer")),
    "SELECT DISTINCT": lambda rows: rows.sparkSession.sql("SELECT DISTINCT id, amount FROM {rows}", rows=rows),
    "alias of the frame": lambda rows: rows.drop("customer").alias("orders"),
    "nowhere": lambda rows: rows.sparkSession.range(3).withColumn("customer", sf.lit("Ann")),
}

_RULES: dict[str, tuple[Shape, str]] = {
    "field of a struct": (lambda rows: rows.select("id", "address.zip"), "address.city IS NOT NULL"),
    "field where the struct is renamed": (lambda rows: rows.withColumnRenamed("address", "a"), "address.city <> 'x2'"),
    "side of a join": (
        lambda rows: rows.alias("a").join(rows.alias("b"), sf.expr("a.id = b.amount")).select("a.id"),
        "b.id > 1",
    ),
    "aggregate of a group": (lambda rows: rows.groupBy("customer").agg(sf.sum("id").alias("s")), "count(amount) = 1"),
    "clock": (lambda rows: rows.drop("time"), "time < current_timestamp() AND id > 2"),
}


@pytest.fixture(scope="module")
def orders(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Seven orders in a file; three break the rule."""
    path = str(tmp_path_factory.mktemp("orders") / "orders")
    rows = spark.range(7).selectExpr(
        "id",
        "id % 5 AS amount",
        "nullif(concat('c', id), 'c3') AS customer",
        "timestamp_seconds(id * 1000) AS time",
        "named_struct('city', nullif(concat('x', id), 'x4'), 'zip', id) AS address",
    )
    rows.write.parquet(path)
    return spark.read.parquet(path)


def _expectation(action: OnViolation, rule: str = _RULE, name: str = "has customer") -> Expectation:
    return Expectation(name, rule, action, _PLACE)


def _sorted(frame: DataFrame) -> list[str]:
    return sorted(str(row) for row in frame.collect())


# Slow: shapes whose column is looked for through the same nodes of a plan as in one that stays, or in one more of them.
_SLOW = {
    *("renamed twice", "dropped", "selected", "rename in another case", "sorted above", "distinct", "watermark"),
    *("window", "hinted", "filtered above"),
}


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=pytest.mark.slow) if shape in _SLOW else shape for shape in _RESOLVED]
)
def test_rules_resolve_as_in_where(orders: DataFrame, shape: str) -> None:
    _check(_RESOLVED[shape](orders), _RULE)


@pytest.mark.parametrize("name", _RULES)
def test_rules_of_other_forms_resolve_as_in_where(orders: DataFrame, name: str) -> None:
    shape, rule = _RULES[name]
    _check(shape(orders), rule)


def _check(query: DataFrame, rule: str) -> None:
    right = query.where(rule)

    kept, _ = observe_expectations(query, [_expectation(OnViolation.DROP, rule)], dataset=_DATASET, occurrence=0)
    right_rows = _sorted(right)
    assert kept.schema == right.schema
    assert _sorted(kept) == right_rows

    rules = [_expectation(OnViolation.QUARANTINE, rule), _expectation(OnViolation.WARN, "1 > 0", "always")]
    aside = quarantine_rows(query, rules, dataset=_DATASET)
    assert _sorted(aside.select(*query.columns)) == _sorted(query.where(f"NOT coalesce({rule}, false)"))
    judged = with_judgements(query, rules)
    outcome = judged.select(broken_rules(judged, rules, dataset=_DATASET).alias("rules")).collect()
    assert {tuple(row.rules) for row in outcome if row.rules is not None} <= {("has customer",)}
    assert len([row for row in outcome if row.rules is None]) == len(right_rows)


@pytest.mark.parametrize("shape", _NOT_RESOLVED)
def test_what_where_refuses_is_refused(orders: DataFrame, shape: str) -> None:
    query = _NOT_RESOLVED[shape](orders)
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        query.where(_RULE)
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        observe_expectations(query, [_expectation(OnViolation.DROP)], dataset=_DATASET, occurrence=0)
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        with_judgements(query, [_expectation(OnViolation.QUARANTINE)])
