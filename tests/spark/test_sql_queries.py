"""Queries as they are written on Databricks, against rows that are known."""

from __future__ import annotations

from tests.spark.pipeline_project import PipelineProject

ROWS = [
    {"id": 1, "at": "2026-01-01 10:01:00", "raw": '{"a": {"b c": 1, "d": [5, 6]}, "k": "x"}', "n": 1, "m": 2},
    {"id": 2, "at": "2026-01-01 10:11:00", "raw": '{"a": {"d": [7]}}', "n": 3, "m": 4},
    {"id": 3, "at": "2026-01-01 12:00:00", "raw": None, "n": 5, "m": 6},
]

# Each with its rows; where only the analysis is in question, with its schema.
Queries = dict[str, tuple[str, list[tuple[object, ...]] | str]]

BATCH: Queries = {
    "qualified": ("""SELECT live.orders.id, shop.people.name
                     FROM live.orders JOIN shop.people ON LIVE.orders.id = shop.people.id""",
                  [(1, "Ann"), (2, "Bob")]),
    "except_column": ("SELECT shop.orders.* EXCEPT (at, raw, orders.n, m) FROM shop.orders", "id int"),
    "paths": ("""SELECT id, raw:a.d[0]::int, orders.raw:k, LIVE.orders.raw:a['b c'] AS e
                 FROM LIVE.orders WHERE raw:a IS NOT NULL""",
              [(1, 5, "x", "1"), (2, 7, None, None)]),
    "variant_and_text": ("""SELECT raw:k, v:k::string AS same
                            FROM (SELECT raw, parse_json(raw) v FROM orders WHERE id = 1)""",
                         [("x", "x")]),
    "grouped": ("SELECT raw:k, count(*) AS c FROM orders WHERE raw:k = 'x' GROUP BY raw:k", "k string, c bigint"),
    "qualified_row": ("SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY n DESC) = 1", "id int"),
    "lateral": ('SELECT n + m AS x, x * 2 AS y, "text" AS z FROM orders WHERE id = 1', "x int, y int, z string"),
    "pivoted": ("SELECT * FROM (SELECT id, n FROM orders) PIVOT (sum(n) FOR id IN (1 AS one, 2 AS two))",
                "one bigint, two bigint"),
    "past": ("SELECT count(p.id) AS c FROM people VERSION AS OF 0 AS p", [(0,)]),
}  # fmt: skip

STREAMING: Queries = {
    "united": ("WITH o AS (SELECT id, n FROM STREAM(orders)) SELECT * FROM o UNION ALL SELECT id, m FROM STREAM orders",
               [(1, 1), (1, 2), (2, 3), (2, 4), (3, 5), (3, 6)]),
    "common": ("WITH o AS (SELECT id FROM STREAM(orders)) SELECT o.id FROM STREAM(o) WHERE o.id > 1", "id int"),
    "unpivoted": ("SELECT * FROM (SELECT id, n, m FROM STREAM(orders) WHERE id = 1) UNPIVOT (v FOR c IN (n, m))",
                  "id int, c string, v int"),
    "static": ("SELECT o.id, name FROM STREAM(orders) o LEFT JOIN people p ON o.id = p.id",
               "id int, name string"),
    "both": ("""SELECT orders.id, b.n FROM STREAM(orders) WATERMARK at DELAY OF INTERVAL 10 MINUTES
                JOIN STREAM(orders) WATERMARK at DELAY OF INTERVAL 10 MINUTES AS b
                ON orders.id = b.id AND b.at BETWEEN orders.at AND orders.at + INTERVAL 1 HOUR""",
             "id int, n int"),
    "windows": ("""SELECT date_format(window.start, 'HH:mm') AS s, count(*) AS c
                   FROM STREAM(orders) WATERMARK at DELAY OF INTERVAL 10 MINUTES GROUP BY window(at, '10 minutes')""",
                [("10:00", 1), ("10:10", 1)]),
    "sessions": ("""SELECT date_format(session_window.start, 'HH:mm') AS s, count(*) AS c
                    FROM STREAM(orders) WATERMARK at DELAY OF INTERVAL 10 MINUTES
                    GROUP BY session_window(at, '15 minutes')""",
                 "s string, c bigint"),
    "json_stream": ("SELECT raw:k FROM STREAM(orders) WHERE id = 1", "k string"),
}  # fmt: skip

SOURCES = """
@dlt.table
def orders():
    return spark.readStream.schema("id INT, at TIMESTAMP, raw STRING, n INT, m INT").json("in")

@dlt.table
def people():
    return spark.createDataFrame([(1, "Ann"), (2, "Bob")], "id INT, name STRING")

@dlt.view
def seen():
    return spark.read.table("people")

"""


def test_queries_against_known_rows(project: PipelineProject) -> None:
    project.arrive("1", ROWS)
    queries = BATCH | STREAMING
    code = [f"@dlt.table\ndef {name}():\n    return spark.sql({query!r})\n" for name, (query, _) in queries.items()]
    project.write(SOURCES + "\n".join(code))
    report = project.validate()
    assert report.errors == ()
    assert report.graph is not None
    kinds = {table.identifier.name: type(table).__name__ for table in report.graph.tables.values()}
    assert {name for name, kind in kinds.items() if kind == "MaterializedView"} == {"people", *BATCH}
    schemas = {identifier.name: schema for identifier, schema in report.graph.stored_schemas.items()}
    analysed = {name: expected for name, (_, expected) in queries.items() if isinstance(expected, str)}
    assert {name: str(schemas[name]) for name in analysed} == analysed
    assert schemas["paths"].names == ("id", "d", "k", "e")

    rows = {name: expected for name, (_, expected) in queries.items() if isinstance(expected, list)}
    assert project.run(refresh=("orders", "people", *rows)).errors == ()
    assert {name: project.rows(name, *schemas[name].names) for name in rows} == {
        name: [row if len(row) > 1 else row[0] for row in expected] for name, expected in rows.items()
    }


def test_a_view_has_no_past(project: PipelineProject) -> None:
    project.arrive("1", ROWS)
    project.write(SOURCES + "@dlt.table\ndef past():\n    return spark.sql('SELECT * FROM seen VERSION AS OF 1')\n")
    (error,) = project.validate().errors
    assert (error.condition, error.facts["name"]) == ("TIME_TRAVEL_ON_VIEW", "shop.seen")
    assert error.position is not None
    assert error.position.column == 15
