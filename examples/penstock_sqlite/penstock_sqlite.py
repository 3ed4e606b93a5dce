"""`format("sqlite")`: a table of SQLite as a source, row by row as they are added, and as a sink, by key."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from penstock.connectors import Connector, ConnectorError, Option, Promise, SinkBatch, SinkTarget, SourceRead

_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "BLOB": "BINARY"}
_VALUES = {"binary", "boolean", "byte", "double", "float", "integer", "long", "short", "string", "void"}
_BEFORE_ALL = -(2**63)  # numbers of rows may be zero, or less
_LEDGER = "CREATE TABLE IF NOT EXISTS penstock_batches (flow TEXT PRIMARY KEY, query TEXT, batch INTEGER)"


@contextmanager
def _database(path: str) -> Iterator[sqlite3.Connection]:
    """A connection without a transaction of its own accord; what is not committed at its end is undone."""
    if not Path(path).is_file():
        raise ConnectorError(f"there is no database {path}", fix="Correct the option 'path'", retry=False)
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as database:
        yield database


def _columns(path: str, table: str) -> str:
    """The columns of a table as Spark knows them."""
    with _database(path) as database:
        found = database.execute("SELECT name, type FROM pragma_table_info(?)", [table]).fetchall()
    if not found:
        raise ConnectorError(f"{path} has no table {table}", fix="Correct the option 'table'", retry=False)
    return ", ".join(f"`{name}` {_TYPES.get(kind.upper(), 'STRING')}" for name, kind in found)


# ---- the source: PySpark's own data source in Python, and what Penstock wants to know about it ----


class Rows(InputPartition):
    """The rows after one number and up to another."""

    def __init__(self, after: int, up_to: int) -> None:
        self.after, self.up_to = after, up_to


class SqliteTable(DataSource):
    """The table as Spark sees it; made anew in each process that reads."""

    @classmethod
    def name(cls) -> str:
        return "sqlite"

    def schema(self) -> str:
        return _columns(self.options["path"], self.options["table"])

    def reader(self, schema: StructType) -> "AllRows":
        return AllRows(self.options)

    def streamReader(self, schema: StructType) -> "NewRows":  # noqa: N802 - PySpark's name
        return NewRows(self.options)


class AllRows(DataSourceReader):
    """The rows that are there."""

    def __init__(self, options: dict[str, str]) -> None:
        self.path, self.table = options["path"], options["table"]

    def newest(self) -> int:
        with _database(self.path) as database:
            newest = database.execute(f'SELECT max(rowid) FROM "{self.table}"').fetchone()[0]
        return _BEFORE_ALL if newest is None else newest

    def partitions(self) -> list[InputPartition]:
        return [Rows(_BEFORE_ALL, self.newest())]

    def read(self, partition: InputPartition) -> Iterator[tuple]:
        with _database(self.path) as database:
            wanted = f'SELECT * FROM "{self.table}" WHERE rowid > ? AND rowid <= ? ORDER BY rowid'
            yield from database.execute(wanted, [partition.after, partition.up_to])


class NewRows(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Rows as they are added; an offset is the number of a row, so a batch is the same rows whenever it is read."""

    def __init__(self, options: dict[str, str]) -> None:
        self.rows = AllRows(options)
        self.limit = int(options["maxRowsPerTrigger"])
        self.end: int | None = None  # of a query that takes what is there and ends
        self.reached = _BEFORE_ALL

    def initialOffset(self) -> dict:  # noqa: N802 - PySpark's names, here and below
        return {"row": _BEFORE_ALL}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.end = self.rows.newest()

    def latestOffset(self, start: dict, limit: ReadLimit) -> dict:  # noqa: N802
        some = f'SELECT rowid FROM "{self.rows.table}" WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?'
        end = self.rows.newest() if self.end is None else self.end
        with _database(self.rows.path) as database:
            found = database.execute(f"SELECT max(rowid) FROM ({some})", [start["row"], end, self.limit]).fetchone()
        self.reached = start["row"] if found[0] is None else found[0]
        return {"row": self.reached}

    def reportLatestOffset(self) -> dict:  # noqa: N802
        with _database(self.rows.path) as database:
            left = f'SELECT count(*) FROM "{self.rows.table}" WHERE rowid > ?'
            behind = database.execute(left, [self.reached]).fetchone()[0]
        return {"recordsBehindLatest": behind}  # the backlog in `penstock status`

    def partitions(self, start: dict, end: dict) -> list[InputPartition]:
        return [Rows(start["row"], end["row"])]

    def read(self, partition: InputPartition) -> Iterator[tuple]:
        return self.rows.read(partition)


class SqliteSource:
    """What Penstock asks when a pipeline reads `format("sqlite")`."""

    options = (
        Option("path", "the file of the database", required=True),
        Option("table", "the table to read", required=True, place=True),
        Option("maxRowsPerTrigger", "the rows of a batch at most", type="number", default="10000"),
    )
    replayable = True

    def stream(self, read: SourceRead) -> DataFrame:
        read.register(SqliteTable)
        return read.stream()

    def batch(self, read: SourceRead) -> DataFrame:
        read.register(SqliteTable)
        return read.spark.read.format("sqlite").options(**read.options).load()

    def check(self, read: SourceRead) -> None:
        _columns(read.options["path"], read.options["table"])


# ---- the sink: each batch is one transaction, which also writes down that it was ----


class SqliteSink:
    """What Penstock asks when a flow writes to `create_sink(…, "sqlite", …)`."""

    options = (
        Option("path", "the file of the database, which is made if it is missing", required=True),
        Option("table", "the table to write, which is made if it is missing", required=True),
        Option("keys", "the columns that identify a row, with commas", required=True),
    )
    promise = Promise.EXACTLY_ONCE
    takes_updates = True

    def open(self, target: SinkTarget) -> "SqliteBatches":
        return SqliteBatches(target)


class SqliteBatches:
    """The batches of one start of a flow."""

    def __init__(self, target: SinkTarget) -> None:
        self.path, self.flow = target.options["path"], target.flow
        table = target.options["table"]
        columns = [f'"{name}"' for name in target.rows.columns]
        keys = [f'"{name.strip()}"' for name in target.options["keys"].split(",")]
        if unknown := set(keys) - set(columns):
            wrong = f"the flow into {table} gives no column {', '.join(sorted(unknown))}"
            raise ConnectorError(wrong, fix="Correct the option 'keys'", retry=False)
        if unfit := [each.name for each in target.rows.schema if each.dataType.typeName() not in _VALUES]:
            wrong = f"SQLite has no values for {', '.join(unfit)}"
            raise ConnectorError(wrong, fix=f"Cast {', '.join(unfit)} to STRING in the flow", retry=False)
        new = ", ".join(f"{name} = excluded.{name}" for name in columns)
        self.upsert = (
            f'INSERT INTO "{table}" ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))}) '
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {new}"
        )
        Path(self.path).touch()
        with _database(self.path) as database:
            database.execute(_LEDGER)
            made = f'"{table}" ({", ".join(columns)}, PRIMARY KEY ({", ".join(keys)}))'
            database.execute(f"CREATE TABLE IF NOT EXISTS {made}")

    def write(self, rows: DataFrame, batch: SinkBatch) -> int | None:
        with _database(self.path) as database:
            database.execute("BEGIN IMMEDIATE")
            known = database.execute("SELECT query, batch FROM penstock_batches WHERE flow = ?", [self.flow]).fetchone()
            if known is not None and known[0] == batch.query and known[1] >= batch.number:
                batch.skip(rows)  # it was committed, and the process died before the checkpoint knew
                return None
            before = database.total_changes
            database.executemany(self.upsert, map(tuple, rows.toLocalIterator()))
            written = database.total_changes - before
            database.execute(
                "INSERT OR REPLACE INTO penstock_batches VALUES (?, ?, ?)", [self.flow, batch.query, batch.number]
            )
            database.execute("COMMIT")
        return written


CONNECTOR = Connector(source=SqliteSource(), sink=SqliteSink())
