"""The SQL of a jdbc sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.graph.sinks.jdbc_target import JdbcTarget, TableName, in_quotes
from penstock.graph.sinks.postgres_types import converted

ROW_NUMBER: Final = "penstock:row"
"""The column of a staging table that is unique: a task of Spark that runs twice fails instead of doubling its rows."""

LEDGER: Final = "penstock_batches"


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """A column of a flow on its way: `name` in the flow, `staged` its type in the staging table.

    `column` is its name in the target, and `type` its type there.
    """

    name: str
    staged: str
    column: str
    type: str


def create_ledger(ledger: TableName) -> str:
    """Returns the statement that makes the ledger if it is missing: for each flow, the newest batch of its query."""
    return (
        f"CREATE TABLE IF NOT EXISTS {ledger.sql} (flow text, target text, query_id text NOT NULL, "
        "batch_id bigint NOT NULL, rows bigint NOT NULL, committed_at timestamp with time zone NOT NULL, "
        "PRIMARY KEY (flow, target))"
    )


def create_target(target: JdbcTarget, columns: list[tuple[str, str]]) -> str:
    """Returns the statement that makes the sink's table for `(name, type)` of its flow."""
    by_name = {name.casefold(): name for name, _ in columns}
    keys = ", ".join(in_quotes(by_name[key.casefold()]) for key in target.keys)
    primary_key = [f"PRIMARY KEY ({keys})"] if keys else []
    return f"CREATE TABLE {target.table.sql} ({', '.join([*_defined(columns), *primary_key])})"


def create_staging(staging: TableName, columns: tuple[StagedColumn, ...], needed: frozenset[str]) -> str:
    """Returns the statement that makes the table to which Spark writes; those `needed` take no NULL."""
    defined = [f"{in_quotes(each.name)} {each.staged}{' NOT NULL' if each.name in needed else ''}" for each in columns]
    row = f"{in_quotes(ROW_NUMBER)} bigint PRIMARY KEY"
    return f"CREATE UNLOGGED TABLE {staging.sql} ({', '.join([*defined, row])}) WITH (autovacuum_enabled = false)"


def merge(target: JdbcTarget, staging: TableName, columns: tuple[StagedColumn, ...], time_zone: str) -> str:
    """Returns the statement that brings the rows of the staging table into the target."""
    names = ", ".join(in_quotes(each.column) for each in columns)
    insert = f"INSERT INTO {target.table.sql} AS target ({names}) {_staged_rows(target, staging, columns, time_zone)}"
    if target.mode == "append":
        return insert
    keys = _named(columns, target.keys)
    insert += f" ON CONFLICT ({', '.join(in_quotes(key.column) for key in keys)}) DO "
    others = [in_quotes(each.column) for each in columns if each not in keys]
    if not others:
        return f"{insert}NOTHING"
    insert += f"UPDATE SET {', '.join(f'{name} = EXCLUDED.{name}' for name in others)}"
    if target.sequence_by is None:
        return insert
    newest = in_quotes(_named(columns, (target.sequence_by,))[0].column)
    return f"{insert} WHERE target.{newest} IS NULL OR EXCLUDED.{newest} >= target.{newest}"


def _staged_rows(target: JdbcTarget, staging: TableName, columns: tuple[StagedColumn, ...], time_zone: str) -> str:
    """Returns the query for the rows as the target takes them, with `sequence_by` the newest one of each key."""
    values = {each: _value(each, time_zone) for each in columns}
    select = f"SELECT {', '.join(values.values())} FROM {staging.sql}"
    if target.sequence_by is None:
        return select
    keys = ", ".join(values[key] for key in _named(columns, target.keys))
    newest = values[_named(columns, (target.sequence_by,))[0]]
    distinct = select.replace("SELECT ", f"SELECT DISTINCT ON ({keys}) ", 1)
    return f"{distinct} ORDER BY {keys}, {newest} DESC, {in_quotes(ROW_NUMBER)} DESC"


def repeated_keys(target: JdbcTarget, staging: TableName, columns: tuple[StagedColumn, ...], time_zone: str) -> str:
    """Returns the query for a few keys of which the staging table has several rows, each with their number."""
    keys = ", ".join(_value(key, time_zone) for key in _named(columns, target.keys))
    return f"SELECT {keys}, count(*) FROM {staging.sql} GROUP BY {keys} HAVING count(*) > 1 ORDER BY {keys} LIMIT 3"


def find_batch(ledger: TableName) -> str:
    """Returns the query for the query id and the newest batch of (flow, target)."""
    return f"SELECT query_id, batch_id FROM {ledger.sql} WHERE flow = ? AND target = ?"


def truncate_and_restart(table: TableName, ledger: TableName, flow: str, target: str) -> str:
    """Returns what a person types to have all rows of a flow once more, in a table that is empty."""
    where = f"flow = {_text(flow)} AND target = {_text(target)}"
    return f"BEGIN; TRUNCATE {table.sql}; DELETE FROM {ledger.sql} WHERE {where}; COMMIT;"


def go_on_after(ledger: TableName, flow: str, target: str, query_id: str, batch_id: int) -> str:
    """Returns what a person types to go on after a batch whose rows are not in the table, and shall not be."""
    values = f"{_text(flow)}, {_text(target)}, {_text(query_id)}, {batch_id}, 0, now()"
    changed = "SET query_id = EXCLUDED.query_id, batch_id = EXCLUDED.batch_id"
    return f"INSERT INTO {ledger.sql} VALUES ({values}) ON CONFLICT (flow, target) DO UPDATE {changed};"


def add_columns(table: TableName, columns: list[tuple[str, str]]) -> str:
    """Returns what a person types to give a table the `(name, type)` that a flow writes."""
    return f"ALTER TABLE {table.sql} {', '.join(f'ADD COLUMN {each}' for each in _defined(columns))};"


def record_batch(ledger: TableName) -> str:
    """Returns the statement that takes a batch down, of (flow, target, query, batch, rows, query that may be replaced).

    It changes no row when another query has written since, or this one a later batch.
    """
    return (
        f"INSERT INTO {ledger.sql} AS known VALUES (?, ?, ?, ?, ?, now()) ON CONFLICT (flow, target) DO UPDATE "
        "SET query_id = EXCLUDED.query_id, batch_id = EXCLUDED.batch_id, rows = EXCLUDED.rows, "
        "committed_at = EXCLUDED.committed_at WHERE known.query_id = ? "
        "OR (known.query_id = EXCLUDED.query_id AND known.batch_id < EXCLUDED.batch_id)"
    )


def _value(column: StagedColumn, time_zone: str) -> str:
    return converted(in_quotes(column.name), column.staged, column.type, time_zone)


def _named(columns: tuple[StagedColumn, ...], names: tuple[str, ...]) -> list[StagedColumn]:
    by_name = {each.name.casefold(): each for each in columns}
    return [by_name[name.casefold()] for name in names]


def _defined(columns: list[tuple[str, str]]) -> list[str]:
    return [f"{in_quotes(name)} {kind}" for name, kind in columns]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
