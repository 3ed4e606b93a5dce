"""The spellings of a read that a pipeline file can use, and what each of them must mean."""

from __future__ import annotations

from dataclasses import dataclass

SOURCES = """
@dlt.table
@dlt.expect_or_quarantine("positive", "amount >= 0")
def orders():
    return spark.readStream.format("rate").load().selectExpr("value AS id", "timestamp AS at", "value * 2 AS amount")

@dlt.table(name="`odd ``name, with spaces`")
def odd():
    return spark.range(1)

@dlt.table
def customers():
    return spark.range(1).withColumn("name", F.lit("Ann"))
"""


@dataclass(frozen=True, slots=True)
class Way:
    """One spelling: Python `code` of a view called `name`.

    `reads` are the datasets read, in order, `*` for a stream; `columns` are those of the result.
    """

    name: str
    code: str
    reads: str
    columns: str

    @property
    def expected_reads(self) -> list[tuple[str, bool]]:
        """Full name and whether it streams, of each dataset."""
        names = {"odd": "`odd ``name, with spaces`"}
        found = [(each.rstrip("*"), each.endswith("*")) for each in self.reads.split()]
        return [(f"shop.{names.get(name, name)}", streaming) for name, streaming in found]

    @property
    def view(self) -> str:
        """The declaration."""
        return f"@dlt.view\ndef {self.name}():\n    return {self.code}\n"


def _sql(name: str, statement: str, reads: str, columns: str) -> Way:
    return Way(f"sql_{name}", f"spark.sql({statement!r})", reads, columns)


_ASIDE = (
    "id at amount _quarantine_id _quarantine_rules _quarantine_flow _quarantine_batch_id _quarantine_time "
    "_quarantine_source _quarantine_replay"
)

WAYS = (
    Way("dlt_read", 'dlt.read("orders")', "orders", "id at amount"),
    Way("dlt_read_stream", 'dlt.read_stream("LIVE.Orders")', "orders*", "id at amount"),
    Way("ps_read", 'ps.read("shop.orders")', "orders", "id at amount"),
    Way("ps_read_stream", 'ps.read_stream("orders")', "orders*", "id at amount"),
    Way("read_table", 'spark.read.table("ORDERS")', "orders", "id at amount"),
    Way("read_stream_table", 'spark.readStream.table("any_catalog.shop.orders")', "orders*", "id at amount"),
    Way("session_table", 'spark.table("`shop`.`orders`")', "orders", "id at amount"),
    Way("with_option", 'spark.readStream.option("maxFilesPerTrigger", 1).table("orders")', "orders*", "id at amount"),
    Way("odd_name", 'dlt.read("`odd ``name, with spaces`")', "odd", "id"),
    Way(
        "columns",
        'dlt.read("orders").select(*[c for c in dlt.read("orders").columns if c != "at"])',
        "orders",
        "id amount",
    ),
    Way(
        "schema",
        'dlt.read("orders").select([f.name for f in spark.read.table("orders").schema][0])',
        "orders",
        "id",
    ),
    Way(
        "watermark",
        'ps.read_stream("orders").withWatermark("at", "1 hour").groupBy(F.window("at", "1 hour")).count()',
        "orders*",
        "window count",
    ),
    Way(
        "self_join",
        'dlt.read_stream("orders").join(dlt.read_stream("orders").toDF("b", "at_b", "c"), F.expr("id = b"))',
        "orders* orders*",
        "id at amount b at_b c",
    ),
    Way("quarantine_read", 'dlt.read("orders__quarantine")', "orders", _ASIDE),
    Way("quarantine_read_stream", 'ps.read_stream("LIVE.orders__quarantine")', "orders*", _ASIDE),
    Way("quarantine_table", 'spark.read.table("shop.orders__quarantine")', "orders", _ASIDE),
    Way("quarantine_stream_table", 'spark.readStream.table("ORDERS__Quarantine")', "orders*", _ASIDE),
    _sql("quarantine", "SELECT * FROM orders__quarantine", "orders", _ASIDE),
    _sql("quarantine_stream", "SELECT q.id FROM STREAM(live.orders__quarantine) AS q", "orders*", "id"),
    _sql("sql", "SELECT * FROM orders", "orders", "id at amount"),
    _sql("own_name", "SELECT Orders.id FROM ORDERS", "orders", "id"),
    _sql("alias", "SELECT o.id FROM shop.orders AS o", "orders", "id"),
    _sql("bare_alias", "SELECT o.id FROM any_catalog.shop.orders o", "orders", "id"),
    _sql("live", "SELECT * FROM LIVE.orders", "orders", "id at amount"),
    _sql("quoted", "SELECT * FROM `shop`.`orders`", "orders", "id at amount"),
    _sql("odd_name", "SELECT * FROM `odd ``name, with spaces`", "odd", "id"),
    _sql("from_first", "FROM orders SELECT id", "orders", "id"),
    _sql("stream", "SELECT * FROM STREAM(orders)", "orders*", "id at amount"),
    _sql("stream_alias", "select o.id from stream( live.Orders ) as o", "orders*", "id"),
    _sql("stream_word", "SELECT id FROM STREAM orders WHERE id > 1", "orders*", "id"),
    _sql("stream_word_alias", "SELECT o.id FROM STREAM `shop`.orders o", "orders*", "id"),
    _sql("stream_own_name", "SELECT orders.id FROM STREAM(orders)", "orders*", "id"),
    _sql("join", "SELECT o.id, name FROM STREAM(orders) o JOIN customers USING (id)", "orders* customers", "id name"),
    _sql("comma_join", "SELECT o.id FROM orders o, customers c WHERE o.id = c.id", "orders customers", "id"),
    _sql("cte", "WITH big AS (SELECT * FROM orders WHERE amount > 1) SELECT id FROM big", "orders", "id"),
    _sql("cte_shadows", "WITH Orders AS (SELECT 1 AS one) SELECT * FROM orders", "", "one"),
    _sql("cte_same_name", "WITH orders AS (SELECT id FROM orders) SELECT * FROM orders", "orders", "id"),
    _sql(
        "cte_inside",
        "SELECT a.id FROM orders a JOIN (WITH orders AS (SELECT 1L AS id) SELECT * FROM orders) b ON a.id = b.id",
        "orders",
        "id",
    ),
    _sql("cte_qualified", "WITH orders AS (SELECT 1 AS one) SELECT o.id FROM shop.orders o, orders", "orders", "id"),
    _sql("in", "SELECT name FROM customers WHERE id IN (SELECT id FROM orders)", "customers orders", "name"),
    _sql(
        "exists",
        "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = c.id)",
        "customers orders",
        "name",
    ),
    _sql("scalar", "SELECT (SELECT max(id) FROM orders) AS most", "orders", "most"),
    _sql("union", "SELECT id FROM orders UNION ALL SELECT id FROM customers", "orders customers", "id"),
    _sql("sample", "SELECT id FROM orders TABLESAMPLE (10 PERCENT) o", "orders", "id"),
    _sql("text", "SELECT '😀 FROM customers' AS t, id FROM orders -- FROM customers", "orders", "t id"),
    Way("sql_parameter", 'spark.sql("SELECT id FROM orders WHERE id = :wanted", args={"wanted": 1})', "orders", "id"),
    Way("sql_positional", 'spark.sql("SELECT id FROM orders WHERE id = ?", args=[1])', "orders", "id"),
    Way(
        "sql_frame",
        'spark.sql("SELECT a.id FROM {frame} a JOIN orders USING (id)", frame=dlt.read("customers"))',
        "customers orders",
        "id",
    ),
    Way(
        "sql_temporary_view",
        '(dlt.read("orders").createOrReplaceTempView("mine"), spark.sql("SELECT id FROM mine"))[1]',
        "orders",
        "id",
    ),
    Way(
        "sql_temporary_stream",
        '(dlt.read_stream("orders").createOrReplaceTempView("mine"), spark.sql("SELECT id FROM mine"))[1]',
        "orders*",
        "id",
    ),
    Way(
        "sql_temporary_stream_word",
        '(dlt.read_stream("orders").createOrReplaceTempView("mine"), spark.sql("SELECT id FROM STREAM(mine)"))[1]',
        "orders*",
        "id",
    ),
    _sql("values", "SELECT * FROM VALUES (1) AS orders(id)", "", "id"),
    _sql("function", "SELECT * FROM range(3) orders", "", "id"),
)
