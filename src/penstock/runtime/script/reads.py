"""What the streaming reads of a script mean: Spark's own, and the formats that Spark does not have."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DefinitionError
from penstock.graph.identifier import Identifier
from penstock.spark.sources.auto_loader import CLEAN_SOURCE, AutoLoaderSource
from penstock.spark.sources.formats import batch_source_of, source_of
from penstock.spark.sources.option import Secret, no_secret, secret_options
from penstock.spark.sources.source import ChecksAccess, SourceRead, checked, read_batch
from penstock.spark.sources.stream_read import Load, StreamRead, no_stream
from penstock.storage import StorageLayout

_AUTO_LOADER = "cloudfiles"
_SCHEMAS = "_penstock_schemas"  # in a schemaLocation, which often is the checkpoint too
_SEVERAL_QUERIES = "several queries of a script may read the same files; a table of a pipeline can clean its source"


@dataclass(slots=True)
class ScriptReads:
    """Answers the reads of a script; a `ReadHandler`.

    `secret` gives the value of a secret by its name; `auto_loader_sources` are those that were loaded.
    """

    script: str
    layout: StorageLayout
    secret: Secret = field(default=no_secret, repr=False)
    auto_loader_sources: list[AutoLoaderSource] = field(default_factory=list)

    def table(
        self,
        spark: SparkSession,
        name: str,
        *,
        streaming: bool,
        options: Mapping[str, str],
        source_name: str | None = None,
    ) -> DataFrame | None:
        """Leaves every name to Spark's catalog, in which the tables of the storage are registered."""
        return None

    def stream(self, spark: SparkSession, read: StreamRead, load: Load) -> DataFrame:
        """Answers through the connector of the format: Spark's own, Penstock's, or one of another package.

        Raises:
            PenstockError: what the connector refuses, or finds out about what it connects to.
        """
        source = source_of(read.format)
        source_read = self._source_read(spark, read, load)
        if read.format.casefold() == _AUTO_LOADER:
            source_read = self._auto_loader(source_read)
        source_read = checked(source, source_read)
        if isinstance(source, ChecksAccess):
            source.check(source_read)
        return source.stream(source_read)

    def batch(self, spark: SparkSession, read: StreamRead) -> DataFrame | None:
        """Answers what Spark does not have through its connector."""
        if (source := batch_source_of(read.format)) is None:
            return None
        return read_batch(source, checked(source, self._source_read(spark, read, no_stream)))

    def path(self, path: str, *, batch: bool) -> str:
        """Leaves paths to Spark: a script is run in the folder in which it was called."""
        return path

    def statement(self, spark: SparkSession, statement: str, execute: Callable[[str], DataFrame]) -> DataFrame:
        """Runs the statement as it is."""
        return execute(statement)

    def action(self, method: str) -> None:
        """A script may do anything."""

    def _source_read(self, spark: SparkSession, read: StreamRead, load: Load) -> SourceRead:
        return SourceRead(
            format=read.format,
            options={**read.options, **secret_options(read.options, self.secret)},
            schema=read.schema,
            path=read.path,
            name=read.name,
            spark=spark,
            load=load,
            description=read.format,
            persist=True,
            opened=self.auto_loader_sources.append,
        )

    def _auto_loader(self, read: SourceRead) -> SourceRead:
        """Gives the source a name and a place for its schemas: a script has no dataset that would."""
        cleaning = read.option(CLEAN_SOURCE) or "OFF"
        if cleaning.strip().upper() != "OFF":
            raise DefinitionError(
                "AUTO_LOADER_UNSUPPORTED_OPTION", option=CLEAN_SOURCE, value=cleaning, reason=_SEVERAL_QUERIES
            )
        path = (read.path or read.option("path") or "").rstrip("/")
        # Two folders may end alike, and a name is a folder's too, of limited length.
        name = f"{re.sub(r'[^A-Za-z0-9_]+', '_', path.rpartition('/')[2])[:40]}_{zlib.crc32(path.encode()):08x}"
        given = read.option("cloudFiles.schemaLocation")
        place = (
            f"{given}/{_SCHEMAS}/{name}" if given else self.layout.schemas(Identifier(self.script, "script"), "", name)
        )
        return replace(read, name=name, schemas=place)
