"""What keeps rows from a table of PostgreSQL: a condition each, nothing of the batch written, and no secret told."""

from __future__ import annotations

import pytest
from tests.postgres_server import PASSWORD, USER, PostgresServer
from tests.spark.pipeline_project import PipelineProject

# name: (statements, options, columns of the flow, condition, what the message or the fix has)
_REFUSED: dict[str, tuple[list[str], dict[str, str], str, str, str]] = {
    "password": ([], {"password": "wrong hunter2"}, "id", "JDBC_LOGIN_REFUSED", USER),
    "nobody": ([], {"user": "nobody"}, "id", "JDBC_LOGIN_REFUSED", "nobody"),
    "database": ([], {"url": "{elsewhere}"}, "id", "JDBC_DATABASE_UNKNOWN", "elsewhere"),
    "tls": ([], {"sslmode": "require"}, "id", "JDBC_TLS_REFUSED", "SSL"),
    "rights": (
        ["CREATE TABLE shop.rights (id int)", "GRANT SELECT ON shop.rights TO reader"],
        {"user": "reader"},
        "id",
        "JDBC_PERMISSION_DENIED",
        "GRANT",
    ),
    "in_nothing": ([], {"dbtable": "nothing.there"}, "id", "JDBC_TABLE_UNSUITABLE", "CREATE SCHEMA"),
    "seen": (["CREATE VIEW shop.seen AS SELECT 1 AS id"], {}, "id", "JDBC_TABLE_UNSUITABLE", "view"),
    "needs": (
        ["CREATE TABLE shop.needs (id int, who int NOT NULL)"],
        {},
        "id",
        "JDBC_TABLE_UNSUITABLE",
        "Select who",
    ),
    "computed": (
        ["CREATE TABLE shop.computed (id int, n int GENERATED ALWAYS AS (id + 1) STORED)"],
        {},
        "id; amount AS n",
        "JDBC_TABLE_UNSUITABLE",
        "Leave the column out",
    ),
    "narrow": (
        ["CREATE TABLE shop.narrow (id int)"],
        {},
        "id; amount; at",
        "JDBC_COLUMNS_MISSING",
        'ADD COLUMN "amount" integer, ADD COLUMN "at" integer',
    ),
    "cut": (["CREATE TABLE shop.cut (id int)"], {}, "id * 0.5D AS id", "JDBC_TYPE_MISMATCH", "would cut its values"),
    "types": (["CREATE TABLE shop.types (id date)"], {}, "id", "JDBC_TYPE_MISMATCH", "is of type date"),
    "unkeyed": (
        ["CREATE TABLE shop.unkeyed (id int, amount int)"],
        {"mode": "upsert", "keys": "id"},
        "id; amount",
        "JDBC_KEYS_NOT_UNIQUE",
        'CREATE UNIQUE INDEX ON "shop"."unkeyed" ("id");',
    ),
    "repeated": ([], {"mode": "upsert", "keys": "id"}, "7 AS id; amount", "JDBC_KEY_REPEATED", "(7) 2 times"),
    "unnamed": (
        [],
        {"mode": "upsert", "keys": "id"},
        "nullif(id, 2) AS id; amount",
        "JDBC_KEY_NULL",
        "'id'",
    ),
    "undated": (
        [],
        {"mode": "upsert", "keys": "id", "sequenceBy": "at"},
        "id; CAST(NULL AS INT) AS at",
        "JDBC_KEY_NULL",
        "'at'",
    ),
    "large": (
        ["CREATE TABLE shop.large (id smallint)"],
        {},
        "id + 100000 AS id",
        "JDBC_VALUE_REFUSED",
        "smallint out of range",
    ),
    "malformed": (
        ["CREATE TABLE shop.malformed (id uuid)"],
        {},
        "'no uuid' AS id",
        "JDBC_VALUE_REFUSED",
        'invalid input syntax for type uuid: "no uuid"',
    ),
    "long": (
        ["CREATE TABLE shop.long (id varchar(3))"],
        {},
        "'four' AS id",
        "JDBC_VALUE_REFUSED",
        "character varying(3)",
    ),
    "zero_byte": ([], {}, "concat('a', chr(0)) AS id", "JDBC_VALUE_REFUSED", "0x00"),
    "checked": (
        ["CREATE TABLE shop.checked (id int, amount int CHECK (amount < 50))"],
        {},
        "id; amount",
        "JDBC_CONSTRAINT_VIOLATED",
        "(2, 70)",
    ),
    "unique_too": (
        ["CREATE TABLE shop.unique_too (id int PRIMARY KEY, amount int UNIQUE)"],
        {"mode": "upsert", "keys": "id"},
        "id; 1 AS amount",
        "JDBC_CONSTRAINT_VIOLATED",
        "(amount)=(1)",
    ),
    "parentless": (
        [
            "CREATE TABLE shop.parent (id int PRIMARY KEY)",
            "CREATE TABLE shop.parentless (id int REFERENCES shop.parent)",
        ],
        {},
        "id",
        "JDBC_CONSTRAINT_VIOLATED",
        "(id)=(1)",
    ),
    "raising": (
        [
            "CREATE TABLE shop.raising (id int)",
            """CREATE FUNCTION shop.refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'not on Sundays'; END $$""",
            "CREATE TRIGGER refuse BEFORE INSERT ON shop.raising FOR EACH ROW EXECUTE FUNCTION shop.refuse()",
        ],
        {},
        "id",
        "JDBC_FAILED",
        "not on Sundays",
    ),
}


def test_what_the_database_refuses(sinks: PipelineProject, postgres: PostgresServer) -> None:
    """All of them in one update: flows do not mind each other's failures."""
    secret = PASSWORD.replace("'", "''")
    postgres.execute("DROP ROLE IF EXISTS reader", f"CREATE ROLE reader LOGIN PASSWORD '{secret}'")
    postgres.execute("GRANT USAGE, CREATE ON SCHEMA shop TO reader")
    declared = ["from sinks import orders, sink"]
    for name, (statements, options, columns, _, _) in _REFUSED.items():
        postgres.execute(*statements)
        chosen = {key: value.format(elsewhere=postgres.url("elsewhere")) for key, value in options.items()}
        declared.append(f"sink({name!r}, **{chosen!r})")
        declared.append(f"@ps.append_flow(target={name!r}, name='to_{name}')")
        declared.append(f"def flow(): return orders().selectExpr({', '.join(map(repr, columns.split('; ')))})")
    sinks.write("\n".join(declared))
    sinks.arrive("a", [{"id": 1, "amount": 5, "at": 1}, {"id": 2, "amount": 70, "at": 1}])
    errors = {str(error.dataset): error for error in sinks.run().errors}
    found = {name.removeprefix("shop."): error.condition for name, error in errors.items()}
    assert found == {name: condition for name, (*_, condition, _) in _REFUSED.items()}
    for name, (*_, said) in _REFUSED.items():
        error = errors[f"shop.{name}"]
        assert said in error.message + error.fix, (name, error.message, error.fix)
        assert "<" not in error.message + error.fix.replace("amount < 50", ""), "a fact is missing"
        assert error.location is not None
        assert len(error.message) < 700, "not the statement with all rows"
    made = "SELECT tablename FROM pg_tables WHERE schemaname = 'shop' AND tablename NOT LIKE 'penstock%'"
    for (table,) in postgres.rows(made):
        assert postgres.rows(f"SELECT * FROM shop.{table}") == [], table
    for segment in (sinks.directory / ".penstock" / "events").glob("*.jsonl"):
        text = segment.read_text()
        assert PASSWORD not in text
        assert "hunter2" not in text
    postgres.execute("DROP OWNED BY reader CASCADE", "DROP ROLE reader")


@pytest.mark.parametrize(
    ("options", "said"),
    [({"sequencedBy": "id"}, "'sequencedBy' (Did you mean 'sequenceBy'?)"), ({"sslmod": "require"}, "'sslmod'")],
    ids=["of Penstock", "of the driver"],
)
def test_an_option_that_nobody_knows(sinks: PipelineProject, options: dict[str, str], said: str) -> None:
    sinks.write(
        f"""
        from sinks import orders, sink

        sink("out", **{options!r})

        @ps.append_flow(target="out")
        def flow():
            return orders()
        """
    )
    [error] = sinks.validate().errors
    assert error.condition == "SINK_OPTIONS_INVALID"
    assert said in error.message
