"""Looks at a sink's table, and makes what is missing, before a batch is written."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.connectors.jdbc import statements
from penstock.connectors.jdbc.connection import Connection, connected
from penstock.connectors.jdbc.failures import Facts, database_errors
from penstock.connectors.jdbc.statements import StagedColumn
from penstock.errors import StateError
from penstock.graph.schema.table_schema import Schema
from penstock.graph.sinks.jdbc_target import JdbcTarget, TableName
from penstock.graph.sinks.postgres_types import loses_in, staged_type
from penstock.spark.sinks.sink import SinkBatch
from penstock.storage.checkpoint.folder import CheckpointFolder

_TABLE = (
    "SELECT c.relkind, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.oid = to_regclass(?)"
)
_COLUMNS = (
    "SELECT attname, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef AND attidentity = '' "
    "FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)
_STAGING = "SELECT tablename FROM pg_tables WHERE schemaname = ? AND tablename LIKE ?"
_TABLES = {"r", "p"}  # plain and partitioned ones


@dataclass(frozen=True, slots=True)
class PreparedTarget:
    """A sink's table that can take the rows of one flow, for one start of its query.

    `flow` is how the ledger knows the flow. `merge` brings staged rows into the target, `repeated`
    finds keys of which there are several; `known` is the flow's newest batch in the ledger at the start.
    """

    place: Facts
    target: JdbcTarget
    options: Mapping[str, str]
    flow: str
    columns: tuple[StagedColumn, ...]
    staging: TableName
    ledger: TableName
    merge: str
    repeated: str
    known: SinkBatch | None


def prepare(
    frame: DataFrame,
    target: JdbcTarget,
    options: Mapping[str, str],
    *,
    flow: str,
    checkpoint: CheckpointFolder,
    place: Facts,
) -> PreparedTarget:
    """Makes the ledger, the sink's table if it is missing, and a staging table; called before each start of a query.

    The staging tables of earlier starts are dropped: of a process that still writes to one, nothing gets into the
    target any more. `checkpoint` is the flow's, which may have no files yet.

    Raises:
        StateError, ExternalError: what keeps the table from taking the rows; see `database_failure`.
    """
    spark = frame.sparkSession
    wanted = [(each.name, staged_type(each.type) or "text") for each in Schema(frame.schema.json()).columns]
    with (
        database_errors(place, target),
        connected(spark, options) as database,
        database.transaction(target.lock_seconds),
    ):
        # Two flows that begin at once would both make the ledger, and one would fail.
        database.query("SELECT pg_advisory_xact_lock(hashtext('penstock'))::text")
        at = _Preparation(database, target, flow, place)
        schema = at.schema_of_table(wanted)
        columns = at.columns(wanted)
        work = target.staging_schema or schema
        ledger = TableName(work, statements.LEDGER)
        database.execute(statements.create_ledger(ledger))
        known = at.known_batch(ledger, checkpoint)
        staging = at.new_staging(work, columns)
        time_zone = str(spark.conf.get("spark.sql.session.timeZone"))
        merge = statements.merge(target, staging, columns, time_zone)
        database.query(f"EXPLAIN {merge}")  # PostgreSQL's own word on types, keys and rights
    repeated = statements.repeated_keys(target, staging, columns, time_zone) if target.keys else ""
    return PreparedTarget(place, target, options, flow, columns, staging, ledger, merge, repeated, known)


@dataclass(frozen=True, slots=True)
class _Preparation:
    """The steps of `prepare`, in its one transaction."""

    database: Connection
    target: JdbcTarget
    flow: str
    place: Facts

    def schema_of_table(self, wanted: list[tuple[str, str]]) -> str:
        """Returns the schema of the sink's table, which is made if it is missing."""
        name = self.target.table.sql
        found = self.database.query(_TABLE, name)
        if not found:
            self.database.execute(statements.create_target(self.target, wanted))
            found = self.database.query(_TABLE, name)
        [(kind, schema)] = found
        if kind not in _TABLES:
            raise self._unsuitable("it is no table but a view or the like", "Name a table as dbtable")
        return str(schema)

    def columns(self, wanted: list[tuple[str, str]]) -> tuple[StagedColumn, ...]:
        """Returns where each column of the flow goes; all that do not fit are named together."""
        table = self.target.table
        rows = self.database.query(_COLUMNS, table.sql)
        there = {str(name): str(kind) for name, kind, _ in rows}
        folded = {name.casefold(): name for name in there}
        placed = [
            StagedColumn(name, staged, column, there[column])
            for name, staged in wanted
            if (column := name if name in there else folded.get(name.casefold())) is not None
        ]
        if missing := [(name, staged) for name, staged in wanted if name not in {each.name for each in placed}]:
            raise StateError(
                "JDBC_COLUMNS_MISSING",
                **self.place,
                table=table,
                columns=", ".join(f"'{name}'" for name, _ in missing),
                statement=statements.add_columns(table, missing),
            )
        if cut := [each for each in placed if loses_in(each.staged, each.type)]:
            words = [f"{each.name} is {each.staged}, and in the table {each.type}" for each in cut]
            reason = f"{'; '.join(words)}, which would cut its values"
            raise StateError("JDBC_TYPE_MISMATCH", **self.place, table=table, reason=reason)
        taken = {each.column for each in placed}
        if empty := [str(name) for name, _, needed in rows if needed == "t" and name not in taken]:
            names = ", ".join(empty)
            reason = f"its {names} must not be NULL, has no default, and the flow does not give it"
            raise self._unsuitable(reason, f"Select {names} in the flow, or give the column a default")
        return tuple(placed)

    def known_batch(self, ledger: TableName, checkpoint: CheckpointFolder) -> SinkBatch | None:
        """Returns the flow's newest batch in the ledger.

        Raises:
            StateError: JDBC_ROWS_WRITTEN_BEFORE: the rows of another query would be appended a second time;
                JDBC_LEDGER_BEHIND: rows that the checkpoint takes for written are missing.
        """
        owner, query_id = (self.flow, str(self.target.table)), checkpoint.known_query_id()
        found = self.database.query(statements.find_batch(ledger), *owner)
        known = SinkBatch(str(found[0][0]), int(found[0][1] or 0)) if found else None
        facts = {**self.place, "table": self.target.table}
        if known is not None and known.query != query_id:
            if self.target.mode == "append":
                statement = statements.truncate_and_restart(self.target.table, ledger, *owner)
                raise StateError("JDBC_ROWS_WRITTEN_BEFORE", **facts, batches=known.number + 1, statement=statement)
            return known
        committed = max(checkpoint.numbers("commits"), default=-1)
        held = -1 if known is None else known.number
        if held < committed:
            statement = statements.go_on_after(ledger, *owner, query_id or "", committed)
            raise StateError("JDBC_LEDGER_BEHIND", **facts, committed=committed, statement=statement)
        return known

    def new_staging(self, schema: str, columns: tuple[StagedColumn, ...]) -> TableName:
        """Makes a staging table, and drops those of the flow's earlier starts."""
        target = self.target
        owner = hashlib.sha256(f"{self.flow} {target.table}".encode()).hexdigest()
        prefix = f"penstock_staging_{owner[:10]}_"
        for (name,) in self.database.query(_STAGING, schema, prefix.replace("_", r"\_") + "%"):
            self.database.execute(f"DROP TABLE IF EXISTS {TableName(schema, str(name)).sql}")
        staging = TableName(schema, prefix + secrets.token_hex(4))
        wanted = {name.casefold() for name in (*target.keys, target.sequence_by) if name is not None}
        needed = frozenset(each.name for each in columns if each.name.casefold() in wanted)
        self.database.execute(statements.create_staging(staging, columns, needed))
        return staging

    def _unsuitable(self, reason: str, way_out: str) -> StateError:
        facts = {**self.place, "table": self.target.table}
        return StateError("JDBC_TABLE_UNSUITABLE", **facts, reason=reason, way_out=way_out)
