"""The SQL of a jdbc sink, whatever is in the names."""

from __future__ import annotations

from penstock.connectors.jdbc import statements
from penstock.connectors.jdbc.statements import StagedColumn
from penstock.graph.sinks.jdbc_target import JdbcTarget, TableName

_STAGING = TableName("work", "staged")
_ID = StagedColumn("Id", "text", "id", "uuid")
_AT = StagedColumn("at", "bigint", "at", "bigint")
_ODD = StagedColumn('a "b"', "text", 'a "b"', "text")


def _merge(mode: str, keys: tuple[str, ...], sequence_by: str | None, *columns: StagedColumn) -> str:
    target = JdbcTarget(TableName(None, "T"), "upsert" if mode == "upsert" else "append", keys, sequence_by, None, 30)
    return statements.merge(target, _STAGING, columns, "UTC")


def test_append() -> None:
    statement = 'INSERT INTO "T" AS target ("id", "a ""b""") SELECT "Id"::uuid, "a ""b""" FROM "work"."staged"'
    assert _merge("append", (), None, _ID, _ODD) == statement


def test_upsert() -> None:
    assert _merge("upsert", ("ID",), None, _ID, _AT, _ODD).endswith(
        'ON CONFLICT ("id") DO UPDATE SET "at" = EXCLUDED."at", "a ""b""" = EXCLUDED."a ""b"""'
    )
    assert _merge("upsert", ("id",), None, _ID).endswith('ON CONFLICT ("id") DO NOTHING')


def test_upsert_of_the_newest() -> None:
    statement = _merge("upsert", ("id",), "AT", _ID, _AT)
    assert 'SELECT DISTINCT ON ("Id"::uuid) "Id"::uuid, "at" FROM "work"."staged"' in statement
    assert 'ORDER BY "Id"::uuid, "at" DESC, "penstock:row" DESC' in statement
    assert statement.endswith('WHERE target."at" IS NULL OR EXCLUDED."at" >= target."at"')
