"""The sources of a pipeline under test: rows that a test feeds, in the place of what the pipeline declares."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, _parse_datatype_string

from penstock.errors import ConfigError, DataError, DefinitionError, PenstockError, did_you_mean
from penstock.graph.identifier import Identifier
from penstock.spark.reading.outside import SourcePlace
from penstock.spark.sources.auto_loader import load_auto_loader, without_cleaning
from penstock.spark.sources.auto_loader.schema.log import SchemaLog, SchemaVersion
from penstock.spark.sources.stream_read import Load, StreamRead, native_load
from penstock.testing.crash import Crash
from penstock.testing.row_values import checked_row, json_line, with_zones

Row = Mapping[str, Any] | str
"""A row to feed: its values by column, or a line of a file as it is."""

_BROKER = frozenset({"topic", "partition", "offset", "timestampType"})
_WRITTEN = frozenset({"json", "csv", "text", "parquet"})
_AUTO_LOADER = "cloudfiles"


@dataclass(slots=True)
class FedSource:
    """One read of the pipeline: `format` is that of its files, "rows" where the source has none.

    `schema` is None where Auto Loader finds it in the files; `options` are those of the read, by lower-case name.
    """

    place: SourcePlace
    format: str
    schema: StructType | None
    folder: Path
    options: Mapping[str, str] = field(default_factory=dict)
    _files: int = 0
    _rows: int = 0

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.place.dataset

    def publish(self, rows: Sequence[Row]) -> None:
        """Lets the rows arrive at once, as one file."""
        self._files += 1
        hidden = self.folder / f".{self._files:06}.arriving"
        self.write(hidden, rows)
        hidden.rename(self.folder / f"{self._files:06}.{self.format.replace('rows', 'parquet')}")
        self._rows += len(rows)

    def check(self, rows: Sequence[Row]) -> None:
        """Raises what is wrong with the rows, as far as the schema is known; writes nothing.

        Raises:
            DataError: FED_COLUMN_UNKNOWN, FED_VALUE_INVALID, FED_ROW_INVALID.
        """
        self._checked(rows)

    def write(self, path: Path, rows: Sequence[Row]) -> None:
        """Writes the rows as one file of the source's format."""
        checked = self._checked(rows)
        if self.format in {"rows", "parquet"}:
            schema = None if self.schema is None else to_arrow_schema(self.schema, timezone="UTC")
            plain = [row if self.schema is not None else with_zones(row) for row in checked if not isinstance(row, str)]
            pq.write_table(pa.Table.from_pylist(plain, schema=schema), path)
        else:
            path.write_text(_text(self, rows), encoding="utf-8")

    def _checked(self, rows: Sequence[Any]) -> list[Row]:
        found: list[Row] = []
        for position, row in enumerate(rows):
            lines = self.format not in {"rows", "parquet"}
            if not isinstance(row, Mapping) and not (lines and isinstance(row, str)):
                wanted = "a dict of its columns, or the text of a line" if lines else "a dict of its columns"
                kind = type(row).__name__
                raise DataError("FED_ROW_INVALID", name=self.label, row=position + 1, kind=kind, expected=wanted)
            if isinstance(row, str) or self.schema is None:
                found.append(row)
            else:
                complete = {**self._of_broker(position), **row}
                found.append(checked_row(complete, self.schema, source=self.label, number=position + 1))
        return found

    def _of_broker(self, position: int) -> dict[str, Any]:
        """What a broker says of a message when the test does not."""
        if self.schema is None or not set(self.schema.fieldNames()) >= _BROKER:
            return {}
        topic = self.options.get("subscribe", self.place.name)
        return {"topic": topic, "partition": 0, "offset": self._rows + position, "timestampType": 0}


def _text(source: FedSource, rows: Sequence[Row]) -> str:
    if source.format == "csv":
        return _csv(rows, list(source.schema.fieldNames()) if source.schema else [], source.options)
    lines = [
        row if isinstance(row, str) else str(row.get("value", "")) if source.format == "text" else json_line(row)
        for row in rows
    ]
    return "".join(f"{line}\n" for line in lines)


def _csv(rows: Sequence[Row], columns: list[str], options: Mapping[str, str]) -> str:
    for row in rows:
        columns += [name for name in ([] if isinstance(row, str) else row) if name not in columns]
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=options.get("sep") or options.get("delimiter") or ",", lineterminator="\n")
    if options.get("header", "").casefold() == "true":
        writer.writerow(columns)
    for row in rows:
        if isinstance(row, str):
            stream.write(f"{row}\n")
        else:
            writer.writerow([row.get(name) for name in columns])
    return stream.getvalue()


class FedSources:
    """Answers the streaming reads from outside of one pipeline, and keeps what was fed until the next step.

    `known` are the datasets and sinks of the pipeline. `schemas` are those that the test gives, by dataset.
    """

    def __init__(
        self, folder: Path, known: Sequence[Identifier], default_schema: str, schemas: Mapping[str, StructType | str]
    ) -> None:
        self._folder = folder
        self._known = {str(each).casefold(): each for each in known}
        self._default_schema = default_schema
        self._schemas = {self._dataset(name): schema for name, schema in schemas.items()}
        self._pending: dict[tuple[str, str | None], list[Row]] = {}
        self._sources: dict[tuple[str, str], FedSource] = {}
        self._resolved = False
        self._crashes = False

    # ---- of the test ----

    def feed(self, name: str, rows: Sequence[Row | Crash], source: str | None) -> None:
        """Keeps rows for the next step, and whether the pipeline shall die in it.

        Raises:
            ConfigError: FED_DATASET_UNKNOWN; and, as soon as the pipeline has been analysed, what `publish` raises.
        """
        key = (self._dataset(name), source)
        real = [row for row in rows if not isinstance(row, Crash)]
        if self._resolved:
            self._source(*key).check(real)
        self._pending.setdefault(key, []).extend(real)
        self._crashes = self._crashes or len(real) < len(rows)

    def check(self) -> None:
        """Checks all that was fed so far; called when the pipeline has been analysed.

        Raises:
            ConfigError: FED_DATASET_IS_NO_SOURCE, FED_SOURCE_AMBIGUOUS.
            DataError: FED_COLUMN_UNKNOWN, FED_VALUE_INVALID.
        """
        self._resolved = True
        for key, rows in self._pending.items():
            self._source(*key).check(rows)

    def take_crash(self) -> bool:
        """Returns whether a crash was fed, once."""
        crashes, self._crashes = self._crashes, False
        return crashes

    def publish(self) -> None:
        """Lets everything that was fed arrive, one file a source."""
        pending, self._pending = self._pending, {}
        together: dict[int, tuple[FedSource, list[Row]]] = {}
        for key, rows in pending.items():
            source = self._source(*key)
            together.setdefault(id(source), (source, []))[1].extend(rows)
        for source, rows in together.values():
            source.publish(rows)

    def _dataset(self, name: str) -> str:
        wanted = str(Identifier.parse(name, default_schema=self._default_schema)).casefold()
        if wanted not in self._known:
            names = [each.name for each in self._known.values()]
            suggestion = did_you_mean(name, names, also=f"Its datasets are {', '.join(sorted(names))}.")
            raise ConfigError("FED_DATASET_UNKNOWN", name=name, suggestion=suggestion)
        return wanted

    def _source(self, dataset: str, name: str | None) -> FedSource:
        found = [each for (owner, _), each in self._sources.items() if owner == dataset]
        if name is not None:
            found = [each for each in found if each.place.name.casefold() == name.casefold()]
        if not found:
            shown = sorted({each.label for each in self._sources.values()})
            sources = ", ".join(shown) if shown else "none"
            raise ConfigError("FED_DATASET_IS_NO_SOURCE", name=self._known[dataset], sources=sources)
        if len(found) > 1:
            names = " or ".join(f"source='{each.place.name}'" for each in found)
            raise ConfigError("FED_SOURCE_AMBIGUOUS", name=self._known[dataset], sources=names)
        return found[0]

    # ---- of the update ----

    def source(self, spark: SparkSession, read: StreamRead, load: Load, place: SourcePlace) -> tuple[StreamRead, Load]:
        """Returns a read of the folder into which rows are fed, in the format of what was declared if that has files.

        Raises:
            ConfigError: FED_SOURCE_WITHOUT_SCHEMA.
        """
        kind = read.format.casefold()
        files = (read.option("cloudFiles.format") or "").casefold() if kind == _AUTO_LOADER else kind
        given = self._schemas.get(place.dataset.casefold())
        wanted = _struct(given) if given is not None else None
        folder = self._folder_of(place)
        options = {name: value for name, value in without_cleaning(read.options).items() if name.casefold() != "path"}
        known = {name.casefold(): value for name, value in options.items()}
        if files not in _WRITTEN:
            columns = wanted or _declared_schema(read, load, place)
            self._register(FedSource(place, "rows", columns, folder, known))
            read = StreamRead("parquet", {}, columns, str(folder), read.name)
        elif kind == _AUTO_LOADER and read.schema is None:
            source = FedSource(place, files, None, folder, known)
            self._register(source)
            declared = replace(read, options=options, path=read.path or read.option("path"))
            read = self._first_read(spark, declared, source, wanted)
        else:
            schema = wanted or _struct(read.schema)
            self._register(FedSource(place, files, schema, folder, known))
            read = replace(read, options=options, schema=schema, path=str(folder))

        def load_fed(name: str | None, more: Mapping[str, str]) -> DataFrame:
            settings = {**read.options, **more}
            return native_load(spark, read.format, settings, read.schema, read.path, source_name=name or place.name)

        return read, load_fed

    def _folder_of(self, place: SourcePlace) -> Path:
        folder = self._folder / place.dataset / place.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _register(self, source: FedSource) -> None:
        self._sources.setdefault((source.place.dataset.casefold(), source.place.name), source)

    def _first_read(
        self, spark: SparkSession, read: StreamRead, source: FedSource, wanted: StructType | None
    ) -> StreamRead:
        """Has Auto Loader find the first schema: in the rows that were fed, else in the files that are declared.

        Rows of earlier steps are in the folder, when all of them are read as one batch.
        """
        place, live = source.place, replace(read, path=str(source.folder))
        log = SchemaLog(place.schemas)
        if log.latest() is not None:
            return live
        if wanted is not None:
            log.write(SchemaVersion(1, wanted, StructType(), "given by the test"))
            return live
        key = place.dataset.casefold()
        rows = [*self._pending.get((key, None), ()), *self._pending.get((key, place.name), ())]
        if any(source.folder.iterdir()):
            read = live
        elif rows:
            folder = self._folder_of(replace(place, name=f".first/{place.name}"))
            source.write(folder / f"rows.{source.format}", rows)
            read = replace(read, path=str(folder))
        try:
            load_auto_loader(spark, read, schema_location=place.schemas, source_name=place.name, persist=True)
        except DefinitionError as error:
            if error.condition not in {"PATH_NOT_FOUND", "CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE"}:
                raise
            raise ConfigError("FED_SOURCE_WITHOUT_SCHEMA", name=place.dataset) from error
        return live


def _struct(schema: StructType | str | None) -> StructType | None:
    if schema is None or isinstance(schema, StructType):
        return schema
    parsed = _parse_datatype_string(schema)
    assert isinstance(parsed, StructType)
    return parsed


def _declared_schema(read: StreamRead, load: Load, place: SourcePlace) -> StructType:
    if read.schema is not None and (schema := _struct(read.schema)) is not None:
        return schema
    try:
        return load(place.name, {}).schema
    except (PySparkException, PenstockError) as error:
        raise ConfigError("FED_SOURCE_WITHOUT_SCHEMA", name=place.dataset) from error
