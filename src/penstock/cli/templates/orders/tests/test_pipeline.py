"""Tests of the pipeline: `penstock test` runs them. Each has tables of its own, and feeds the rows that it needs."""

from penstock.testing import assert_table


def order(order_id, at="10:00", **changes):
    """A line as the shop sends it, at a time of one day; what a test does not care for is always the same."""
    time = f"2026-03-01T{at}:00Z"
    usual = {"customer_id": "c1", "product": "lamp", "quantity": 1, "amount": 20.0, "order_time": time, "sent_at": time}
    return {"order_id": order_id, **usual, **changes}


def test_silver_holds_good_orders_only(pipeline):
    pipeline.feed(
        "bronze_orders",
        [order("o1"), order("o2", amount=-5.0), order("o3", customer_id=None), '{"order_id": "o4", "amou'],
    )
    pipeline.step()
    assert_table(pipeline, "silver_orders", [{"order_id": "o1", "amount": 20.0}])
    assert pipeline.expectations("silver_orders")["known_customer"] == (2, 2)  # passed, failed
    assert_table(pipeline, "top_products", [{"product": "lamp", "orders": 1, "revenue": 20.0}])


def test_an_hour_is_counted_when_it_is_over(pipeline):
    pipeline.feed("bronze_orders", [order("o1", at="10:05"), order("o2", at="10:55", amount=30.0)])
    pipeline.step()
    assert_table(pipeline, "hourly_revenue", [])  # orders of the hour may still come

    pipeline.advance_watermark("hourly_revenue", to="2026-03-01T11:00:00Z")
    closed = [{"hour": "2026-03-01T10:00:00Z", "orders": 2, "revenue": 50.0}]
    assert_table(pipeline, "hourly_revenue", closed)

    pipeline.feed("bronze_orders", [order("o3", at="10:30")])  # too late: its hour is written
    pipeline.step()
    assert_table(pipeline, "hourly_revenue", closed)
    assert [row["order_id"] for row in pipeline.late_rows("hourly_revenue")] == ["o3"]
