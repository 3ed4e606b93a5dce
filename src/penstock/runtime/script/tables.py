"""The tables that a script knows by name: Delta tables in its storage, found again by the next run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.sql.names import literal, quoted
from penstock.runtime.script.stream_write import StreamWrite
from penstock.runtime.storage_state.own_catalog import check_own_catalog, note_own_catalog, noted_catalog
from penstock.spark.accelerators.own_classes import STORAGE_CATALOG
from penstock.storage import Storage, StorageLayout
from penstock.storage.layout import dataset_name

DEFAULT_SCHEMA = "default"
_SESSION_CATALOG = "spark_catalog"


@dataclass(slots=True)
class ScriptTables:
    """Spark's catalog of one process, filled from the folders of the storage.

    A name may begin with a catalog. One that the session has (`spark.sql.catalog.NAME`) is Spark's affair; any other is
    one of the storage, as for a pipeline. `catalog` is the own one, whose tables lie in folders without a catalog: that
    of the pipeline file, else that of the last run, else the first that the script writes to.

    Spark's own catalog has one level of schemas, so that a schema of another catalog has a longer name in there; Spark
    finds both by `penstock.script.StorageCatalog`.
    """

    spark: SparkSession
    layout: StorageLayout
    catalog: str | None = None

    def register(self) -> None:
        """Makes the catalog know the tables that earlier runs have left."""
        self.catalog = self.catalog or noted_catalog(self.layout)
        if self.catalog is not None:
            self._create_catalog(self.catalog, "")
        for identifier, uri in _stored(self.layout):
            self._create_schema(identifier)
            self.spark.sql(f"CREATE TABLE IF NOT EXISTS {_sql(identifier)} USING delta LOCATION {literal(uri)}")

    def identifier(self, name: str) -> Identifier:
        """Returns what a table is called to which the script writes by `name`: without the storage's own catalog.

        Raises:
            StateError: CATALOG_CHANGED.
        """
        found = Identifier.parse(name, default_schema=DefaultSchema(DEFAULT_SCHEMA, self.catalog))
        found = found.within(_SESSION_CATALOG)
        if found.catalog is not None and not self._is_of_session(found.catalog):
            if self.catalog is None:
                self.catalog = found.catalog
                self._create_catalog(self.catalog, "")
            found = found.within(self.catalog)
        if self.catalog is not None:
            check_own_catalog(self.layout, self.catalog, [found])
            note_own_catalog(self.layout, self.catalog)
        return found

    def placed(self, write: StreamWrite) -> StreamWrite:
        """Returns a write into a table by name with the table's place, where it is or is going to be."""
        identifier = write.dataset
        if write.table is None or (identifier.catalog is not None and self._is_of_session(identifier.catalog)):
            return write
        name = _sql(identifier)
        self._create_schema(identifier)
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
        return self.spark.conf.get(f"spark.sql.catalog.{catalog}", None) not in {None, STORAGE_CATALOG}

    def _create_catalog(self, catalog: str, prefix: str) -> None:
        for name in {catalog, catalog.casefold()}:  # Spark tells its catalogs' names apart by case
            self.spark.conf.set(f"spark.sql.catalog.{name}.prefix", prefix)
            self.spark.conf.set(f"spark.sql.catalog.{name}", STORAGE_CATALOG)

    def _create_schema(self, identifier: Identifier) -> None:
        if identifier.catalog is not None:
            self._create_catalog(identifier.catalog, _prefix(identifier.catalog))
        elif identifier.schema.casefold() == DEFAULT_SCHEMA:
            return
        place = self.layout.table(identifier).rpartition("/")[0]
        self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quoted(_schema(identifier))} LOCATION {literal(place)}")

    def _location(self, name: str) -> str:
        return str(self.spark.sql(f"DESCRIBE DETAIL {name}").select("location").head()[0]).removeprefix("file:")  # type: ignore[index]


def _stored(layout: StorageLayout) -> Iterator[tuple[Identifier, str]]:
    storage = Storage(f"{layout.uri}/tables")
    for schema in storage.list():
        for table in storage.list(schema.uri) if schema.is_directory else ():
            if table.is_directory and storage.exists(f"{table.uri}/_delta_log"):
                yield Identifier(*dataset_name(schema.name, table.name)), table.uri


def _sql(identifier: Identifier) -> str:
    return f"{quoted(_schema(identifier))}.{quoted(identifier.name)}"


def _schema(identifier: Identifier) -> str:
    """Returns what a schema is called in Spark's own catalog."""
    return identifier.schema if identifier.catalog is None else _prefix(identifier.catalog) + identifier.schema


def _prefix(catalog: str) -> str:
    """Returns how the schemas of another catalog begin: of letters that Spark takes, no two catalogs alike."""
    word = re.sub("[^a-z0-9]", lambda match: f"_{ord(match.group()):x}_", catalog.casefold())
    return f"penstock_{word}__"
