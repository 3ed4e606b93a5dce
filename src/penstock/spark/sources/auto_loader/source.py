"""One cloudFiles source of a flow, and how it takes in new columns and wider types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType, _parse_datatype_string

from penstock.spark.failures.causes import causes_of, failure_messages
from penstock.spark.sources.auto_loader.files.cleaning import Cleaned, clean_source
from penstock.spark.sources.auto_loader.formats.csv_headers import distinct_headers, is_mixed, read_headers
from penstock.spark.sources.auto_loader.formats.json_lines import json_lines
from penstock.spark.sources.auto_loader.formats.json_records import wider_types
from penstock.spark.sources.auto_loader.inference.columns import infer_columns, infer_fitting
from penstock.spark.sources.auto_loader.inference.file_schemas import damaged_file
from penstock.spark.sources.auto_loader.inference.inspection import UNINSPECTED, rescue_other_types
from penstock.spark.sources.auto_loader.options.clean_source import base_folder
from penstock.spark.sources.auto_loader.options.hints import apply_hints
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions, EvolutionMode
from penstock.spark.sources.auto_loader.schema.log import SchemaLog, SchemaVersion
from penstock.spark.sources.auto_loader.schema.merge import (
    add_new_fields,
    describe_growth,
    has_fields,
    new_field_paths,
    with_text_field,
    without_names,
)
from penstock.spark.sources.auto_loader.schema.other_types import READERS
from penstock.spark.sources.auto_loader.schema.reports import UnknownFields, unknown_fields
from penstock.spark.sources.auto_loader.schema.widening import widened_at
from penstock.storage import local_path
from penstock.storage.checkpoint.planned_files import planned_uris

# Spark gives both failures the same numbered legacy condition prefix, so only the text distinguishes them.
_OTHER_HEADER = ("CSV header does not conform to the schema", "Number of column in CSV header is not equal")

_FILE_UNREAD, _FILE_GONE = "FAILED_READ_FILE", "FAILED_READ_FILE.FILE_NOT_EXIST"


@dataclass(frozen=True, slots=True)
class Evolution:
    """What changed, in words, with the new schema version and the dotted paths of the columns that were added.

    `new_columns` is empty when only types or the layout of the files changed (CSV columns in another order).
    """

    version: int
    new_columns: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class AutoLoaderSource:
    """A cloudFiles source as it was loaded; returned by `load_auto_loader` beside its DataFrame.

    `schema_location` is where the schema versions are kept, `version` the one that the DataFrame has.
    """

    source_name: str
    path: str
    schema_location: str
    options: AutoLoaderOptions
    version: SchemaVersion
    given_schema: bool

    def evolve(self, spark: SparkSession, failure: BaseException, checkpoint_location: str) -> Evolution | None:
        """Writes the next schema version when `failure` is due to files that the current one does not fit.

        The runtime calls it, from any thread, when the flow's query ended with `failure`. On an Evolution
        it evaluates the flow function again, which loads the new version, and restarts the same checkpoint
        at once: Spark plans exactly the failed batch again, so each row is written once. None: this source
        did not cause the failure, or its mode does not add columns; nothing was written.

        Raises:
            DataError: AUTO_LOADER_FILE_UNREADABLE, AUTO_LOADER_TYPE_MISMATCH.
        """
        reported = unknown_fields(failure)
        if reported is not None and reported.source_name == self.source_name:
            files = planned_uris(checkpoint_location, self.source_name) or (reported.file,)
            return self._evolve_fields(spark, reported, files)
        if self.options.format == "csv" and not self.given_schema and _is_other_header(failure):
            return self._evolve_headers(spark, planned_uris(checkpoint_location, self.source_name))
        if _is_of_a_file(failure):
            files = planned_uris(checkpoint_location, self.source_name)
            evolution = self._evolve_types(spark, files) if self.options.format in READERS else None
            if evolution is None and (damaged := damaged_file(failure, self.options, files)) is not None:
                raise damaged
            return evolution
        return None

    def reads(self, uri: str) -> bool:
        """Whether a file, named as Spark names it, may be one of this source."""
        return local_path(unquote(uri)).startswith(base_folder(self.path))

    def clean(self, checkpoint_location: str, stopped: Callable[[], bool]) -> Cleaned:
        """Deletes or moves the files that `cloudFiles.cleanSource` names, as far as they are committed.

        The runtime calls it from the flow's thread, between batches and after the last one; `stopped` says when it
        shall leave the rest to the next call. Files that it cannot delete are reported in the result.

        Raises:
            PenstockError: the storage of the checkpoint or of the schemas fails.
        """
        if self.options.clean is None:
            return Cleaned()
        return clean_source(
            self.options.clean,
            checkpoint=checkpoint_location,
            source=self.source_name,
            notes_location=self.schema_location,
            stopped=stopped,
        )

    def _evolve_fields(self, spark: SparkSession, reported: UnknownFields, files: tuple[str, ...]) -> Evolution | None:
        if reported.fields == ((UNINSPECTED,),):  # loading the source again looks at the new files; nothing to write
            return Evolution(self.version.number, (), "new files; their columns are compared")
        if self.given_schema or not self.options.mode.adds_columns:
            return None
        before = self._latest()
        columns = self._grown(spark, before, files, reported.fields)
        columns = _widened(columns, reported.types)
        if reported.types and self.options.format == "json":
            columns = self._wide_enough(spark, columns, before, files)
        partitions = _widened(before.partitions, reported.types)
        if columns == before.columns and partitions == before.partitions:
            return None
        changes: dict[str, object] = {"columns": columns, "partitions": partitions}
        if before.csv_by_file:
            headers = distinct_headers(read_headers(spark, self.options, files))
            changes["csv_headers"] = tuple(dict.fromkeys((*before.csv_headers, *headers)))
        return self._write(before, changes)

    def _wide_enough(
        self, spark: SparkSession, columns: StructType, before: SchemaVersion, files: tuple[str, ...]
    ) -> StructType:
        """The first record that did not fit was reported; with all records checked, one start does for the batch."""
        lines = json_lines(spark, self.options, files)
        while True:
            found = wider_types(lines, replace(before, columns=columns), self.options)
            wider = _widened(columns, sorted((tuple(row["path"]), row["type"]) for row in found))
            if wider == columns:
                return columns
            columns = wider

    def _evolve_types(self, spark: SparkSession, files: tuple[str, ...]) -> Evolution | None:
        """Files that were not inspected yet, or were written again since."""
        if not files:
            return None
        before = self._latest()
        others = rescue_other_types(spark, self.options, before, files)
        if others == before.others:
            return None
        SchemaLog(self.schema_location).write_others(others)
        return Evolution(before.number, (), "new files have columns of other types; their values are rescued")

    def _evolve_headers(self, spark: SparkSession, files: tuple[str, ...]) -> Evolution | None:
        before = self._latest()
        headers = read_headers(spark, self.options, files)
        other = tuple(header for header in distinct_headers(headers) if header != before.csv_headers[-1])
        if not headers or before.csv_by_file:
            return None
        # A folder whose files go back and forth between layouts is read file by file from now on; so is one with a
        # file whose header Spark's reader does not read as it is (UTF-16).
        mixed = not other or is_mixed(headers, self.options) or other[0] in before.csv_headers
        changes: dict[str, object] = {
            "csv_headers": tuple(dict.fromkeys((*before.csv_headers, *other))),
            "csv_by_file": mixed,
        }
        if self.options.mode.adds_columns:
            changes["columns"] = self._grown(spark, before, files, ())
        elif self.options.mode is EvolutionMode.FAIL_ON_NEW_COLUMNS:
            # Reading by file names the new columns; if there are none, the next run goes on.
            changes["csv_by_file"] = True
        return self._write(before, changes)

    def _grown(
        self, spark: SparkSession, before: SchemaVersion, files: tuple[str, ...], reported: Sequence[tuple[str, ...]]
    ) -> StructType:
        columns = self._with_fields(before, before.columns, infer_columns(spark, self.options, files))
        if self.options.format == "json" and self.options.infer_types and not has_fields(columns, reported):
            # Beside a value of another type Spark infers no struct, so the fields inside are in the other records.
            fitting = infer_fitting(spark, self.options, before, files)
            columns = self._with_fields(before, columns, fitting)
        # Whatever the inference made of the files, the reported columns must be there, or the restart fails again.
        for path in reported:
            columns = with_text_field(columns, path)
        return columns

    def _with_fields(self, before: SchemaVersion, columns: StructType, found: StructType) -> StructType:
        """`columns` with what else is in `found`, in the types of the hints."""
        found = apply_hints(found, self.options.schema_hints)
        new = without_names(found, before.partitions.names)
        return add_new_fields(columns, self.options.without_rescued(new))

    def _write(self, before: SchemaVersion, changes: dict[str, object]) -> Evolution:
        columns = changes.get("columns", before.columns)
        assert isinstance(columns, StructType)
        folders = changes.get("partitions", before.partitions)
        assert isinstance(folders, StructType)
        grown = (describe_growth(before.columns, columns), describe_growth(before.partitions, folders))
        reason = "; ".join(filter(None, grown)) or "files with another header"
        after = before.followed_by(reason, **changes)
        SchemaLog(self.schema_location).write(after)
        return Evolution(after.number, new_field_paths(before.columns, columns), reason)

    def _latest(self) -> SchemaVersion:
        log = SchemaLog(self.schema_location)
        return log.latest() or replace(self.version, others=log.others())


def _is_other_header(failure: BaseException) -> bool:
    return any(text in message for message in failure_messages(failure) for text in _OTHER_HEADER)


def _widened(columns: StructType, types: Iterable[tuple[tuple[str, ...], str]]) -> StructType:
    for path, ddl in types:
        widened = widened_at(columns, path, _parse_datatype_string(ddl))
        assert isinstance(widened, StructType)
        columns = widened
    return columns


def _is_of_a_file(failure: BaseException) -> bool:
    conditions = [cause.condition or "" for cause in causes_of(failure)]
    return any(each.startswith(_FILE_UNREAD) for each in conditions) and _FILE_GONE not in conditions
