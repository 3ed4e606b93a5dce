"""The tables that a script knows by name: Delta tables in its storage, found again by the next run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.sql.names import literal, quoted
from penstock.runtime.script.stream_write import StreamWrite
from penstock.storage import Storage, StorageLayout
from penstock.storage.layout import decode_part

DEFAULT_SCHEMA = "default"
_SESSION_CATALOG = "spark_catalog"


@dataclass(slots=True)
class ScriptTables:
    """Spark's catalog of one process, filled from the folders of the storage.

    A name may begin with a catalog. One that the session has (`spark.sql.catalog.NAME`) is Spark's affair; otherwise
    the first that the script writes to is that of the storage, which holds one.
    """

    spark: SparkSession
    layout: StorageLayout
    catalog: str | None = None

    def register(self) -> None:
        """Makes the catalog know the tables that earlier runs have left."""
        for identifier, uri in _stored(self.layout):
            self._create_schema(identifier.schema)
            self.spark.sql(f"CREATE TABLE IF NOT EXISTS {_sql(identifier)} USING delta LOCATION {literal(uri)}")

    def identifier(self, name: str, location: SourceLocation) -> Identifier:
        """Returns what a table is called to which the script writes by `name`: without the storage's own catalog.

        Raises:
            DefinitionError: SCRIPT_TABLE_IN_ANOTHER_CATALOG.
        """
        found = Identifier.parse(name, default_schema=DefaultSchema(DEFAULT_SCHEMA, self.catalog))
        found = found.within(_SESSION_CATALOG)
        if found.catalog is None or self._is_of_session(found.catalog):
            return found
        if self.catalog is not None:
            raise DefinitionError(
                "SCRIPT_TABLE_IN_ANOTHER_CATALOG",
                location=location,
                dataset=str(found),
                name=found,
                catalog=found.catalog,
                own=self.catalog,
            )
        self.catalog = found.catalog
        return found.within(self.catalog)

    def placed(self, write: StreamWrite) -> StreamWrite:
        """Returns a write into a table by name with the table's place, where it is or is going to be."""
        identifier = write.dataset
        if write.table is None or identifier.catalog is not None:
            return write
        name = _sql(identifier)
        self._create_schema(identifier.schema)
        if not write.is_delta:
            return replace(write, table=name)
        there = self.spark.catalog.tableExists(name)
        return replace(write, table=name, path=self._location(name) if there else self.layout.table(identifier))

    def create(self, write: StreamWrite) -> None:
        """Creates the Delta table of a write, without rows, unless it is there; a write by path creates its own.

        A MERGE does not, so that its table is created as well.
        """
        if not write.is_delta or write.path is None or (write.table is None and write.keys is None):
            return
        if DeltaTable.isDeltaTable(self.spark, write.path):
            return
        fields = write.frame.schema.fields
        # Without the metadata that the query's own operators have put there, such as a watermark's.
        columns = StructType([StructField(each.name, each.dataType, each.nullable) for each in fields])
        builder = DeltaTable.createIfNotExists(self.spark).location(write.path).addColumns(columns)
        if write.table is not None:
            builder = builder.tableName(write.table)
        if write.partition_columns:
            builder = builder.partitionedBy(*write.partition_columns)
        if write.cluster_columns:
            builder = builder.clusterBy(*write.cluster_columns)
        builder.execute()

    def _is_of_session(self, catalog: str) -> bool:
        return self.spark.conf.get(f"spark.sql.catalog.{catalog}", None) is not None

    def _create_schema(self, schema: str) -> None:
        if schema.casefold() == DEFAULT_SCHEMA:
            return
        place = self.layout.table(Identifier(schema, "x")).rpartition("/")[0]
        self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)} LOCATION {literal(place)}")

    def _location(self, name: str) -> str:
        return str(self.spark.sql(f"DESCRIBE DETAIL {name}").select("location").head()[0]).removeprefix("file:")  # type: ignore[index]


def _stored(layout: StorageLayout) -> Iterator[tuple[Identifier, str]]:
    storage = Storage(f"{layout.uri}/tables")
    for schema in storage.list():
        for table in storage.list(schema.uri) if schema.is_directory else ():
            if table.is_directory and storage.exists(f"{table.uri}/_delta_log"):
                yield Identifier(decode_part(schema.name), decode_part(table.name)), table.uri


def _sql(identifier: Identifier) -> str:
    return f"{quoted(identifier.schema)}.{quoted(identifier.name)}"
