"""What the orders pipeline of the recorded log declares: columns, expectations, and where each column comes from."""

from __future__ import annotations

from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn, OutputColumn, Transformation

ORDER_COLUMNS = (
    ("order_id", "bigint", None),
    ("customer_id", "string", "who ordered; null is a fault of the shop"),
    ("amount", "double", "in euros"),
    ("order_time", "timestamp", None),
)
SILVER_CHECKS = (
    ("has customer", "customer_id IS NOT NULL", "warn"),
    ("positive amount", "amount > 0", "drop"),
    ("valid time", "order_time > '2020-01-01'", "drop"),
    ("no test order", "customer_id NOT LIKE 'test-%'", "quarantine"),
)


def _lineage(
    read: str, ways: tuple[Transformation, ...], rows: tuple[InputColumn, ...] = (), *, unknown: tuple[str, ...] = ()
) -> ColumnLineage:
    """Each column is made of that of the same name, in its own way; of those that are `unknown`, nobody knows."""
    return ColumnLineage(
        tuple(
            OutputColumn(name, (), resolved=False)
            if name in unknown
            else OutputColumn(name, (InputColumn(read, name, (way,)),))
            for (name, _, _), way in zip(ORDER_COLUMNS, ways, strict=True)
        ),
        rows,
        rows_resolved=not unknown,
    )


_SAME = (Transformation.IDENTITY,) * 4
BRONZE = _lineage("cloudFiles ./data/orders", (*_SAME[:3], Transformation.TRANSFORMATION))
SILVER = _lineage("shop.bronze_orders", _SAME, (InputColumn("shop.bronze_orders", "amount", (Transformation.FILTER,)),))
HOURLY = _lineage(
    "shop.silver_orders",
    (Transformation.AGGREGATION,) * 3 + (Transformation.TRANSFORMATION,),
    (InputColumn("shop.silver_orders", "order_time", (Transformation.GROUP_BY,)),),
)
REPORT = _lineage("shop.hourly_revenue", _SAME, unknown=("amount",))
