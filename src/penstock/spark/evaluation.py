"""One call of a user's function: answers its reads and remembers what it read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from penstock.config import resolve_path
from penstock.errors import DefinitionError
from penstock.graph.elements import Dataset, FlowFunction, Table
from penstock.graph.identifier import Identifier, split_name
from penstock.graph.resolved import Input
from penstock.graph.sql_query import SqlQuery
from penstock.spark import _jvm
from penstock.spark.expectations.observed import ObservedExpectations, observe_expectations
from penstock.spark.reading.outside import Outside, SourcePlace
from penstock.spark.reading.read_handler import handling_reads
from penstock.spark.reading.recorded_options import named_source
from penstock.spark.reading.source_names import with_unique_source_names
from penstock.spark.sources.auto_loader import AutoLoaderSource
from penstock.spark.sources.delta import delta_options, stream_options
from penstock.spark.sources.formats import batch_source_of, source_of
from penstock.spark.sources.option import Secret, no_secret, places, secret_options
from penstock.spark.sources.source import ChecksAccess, Source, SourceRead, checked, read_batch
from penstock.spark.sources.stream_read import Load, StreamRead, no_stream
from penstock.spark.sql.functions import TABLE_FUNCTIONS, TableFunction
from penstock.spark.sql.statement import run_statement
from penstock.storage import StorageLayout, local_path
from penstock.storage.stores.stores import store_of


def all_rows(frame: DataFrame) -> DataFrame:
    """The sample of a run, which has everything."""
    return frame


class DatasetCatalog(Protocol):
    """Where an evaluation finds tables by name."""

    def find(self, name: str) -> Identifier | None:
        """Returns the pipeline's dataset of that name, or None."""

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns the pipeline's dataset as a DataFrame; inlines a view through `evaluation.inline`."""

    def is_view(self, name: str) -> bool:
        """Whether the pipeline has a view of that name."""

    def stored(self, name: str) -> str | None:
        """Returns the path of a table of the storage that the pipeline does not declare, or None."""


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """What all evaluations of one run share.

    `persist` False promises that nothing is written (validate); `schemas` gives the place where
    Auto Loader keeps the schema of a source. With `batch`, streaming reads are answered with all that there is.
    `outside` replaces what is not the pipeline's; `secret` gives the value of a secret by its name.
    `reports_casts` asks for notices of casts that can fail. `sample` bounds what a batch gets of a table of the
    storage, of a connector, and of a streaming source that it reads.
    """

    directory: Path
    paths: Mapping[str, str] = field(default_factory=dict)
    persist: bool = False
    batch: bool = False
    outside: Outside | None = None
    secret: Secret = field(default=no_secret, repr=False)
    reports_casts: bool = False
    sample: Callable[[DataFrame], DataFrame] = all_rows


@dataclass(slots=True)
class Evaluation:
    """One call of a dataset function, or (`dataset` None) of a pipeline file's module-level code.

    It is the `ReadHandler` while the function runs; its lists show afterwards what was read: `inputs` by the function
    itself, `sources` those that the checkpoint knows by name, also of the views that are inlined.
    `count_once` puts an exchange behind each counted view, for a query of which `observe_runs_twice` is true.
    `checkpoint` is that of the stream that is going to run; None when none is.
    `more_options` gives what the streaming sources of a format are read with beside the author's options.
    `checks` make sure, before the query starts, that its sources answer.
    `functions` are table functions of SQL, by their folded names, beside those that every statement may call.
    `places` is the `Input.source` of what is read as a batch: by the path of files and tables outside of the pipeline,
    and by the name, in small letters, of its datasets.
    """

    spark: SparkSession
    catalog: DatasetCatalog
    settings: EvaluationSettings
    schemas: Callable[[str], str]
    dataset: str | None
    count_once: bool = False
    checkpoint: str | None = None
    more_options: Callable[[str], Mapping[str, str]] = lambda _: {}
    inputs: list[Input] = field(default_factory=list)
    sources: list[Input] = field(default_factory=list)
    auto_loader_sources: list[AutoLoaderSource] = field(default_factory=list)
    observed: list[ObservedExpectations] = field(default_factory=list)
    checks: list[Callable[[], None]] = field(default_factory=list)
    functions: Mapping[str, TableFunction] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _schema: str | None = None
    _catalog: str | None = None
    _chosen_name: str | None = None

    def call(self, function: FlowFunction) -> DataFrame:
        """Calls the function of a flow under this handler; each source of the query gets a name of its own.

        Raises:
            DefinitionError: DATASET_FUNCTION_RETURNED_NO_DATAFRAME; what a hook refuses.
            Exception: whatever the user's code raises.
        """
        return with_unique_source_names(self._called(function), self._read_again)

    def _called(self, function: FlowFunction) -> DataFrame:
        _jvm.activate(self.spark)
        self._schema, self._catalog = (
            (function.schema, function.catalog) if isinstance(function, SqlQuery) else (None, None)
        )
        with handling_reads(self):
            frame = function()
        if not isinstance(frame, DataFrame):
            raise DefinitionError(
                "DATASET_FUNCTION_RETURNED_NO_DATAFRAME", dataset=self.dataset, returned=type(frame).__name__
            )
        return frame

    def inline(self, view: Dataset, function: FlowFunction) -> DataFrame:
        """Evaluates a view inside this evaluation; its reads stay the view's, not this flow's."""
        nested = replace(self, dataset=str(view.identifier), inputs=[], functions={}, _chosen_name=None)
        frame = nested.expect(view, nested._called(function))
        return frame.hint("rebalance") if self.count_once and view.expectations else frame

    def expect(self, dataset: Dataset, frame: DataFrame) -> DataFrame:
        """Applies a dataset's expectations and remembers how to read their counters."""
        if not dataset.expectations:
            return frame
        frame, observed = observe_expectations(
            frame, dataset.expectations, dataset=dataset.identifier, occurrence=len(self.observed)
        )
        self.observed.append(observed)
        return frame

    def note(self, read: Input) -> None:
        """Remembers one read."""
        self.inputs.append(read)
        if read.name is not None:
            self.sources.append(read)
        elif read.dataset is not None:
            self.places[read.source.casefold()] = read.source

    def source_name(self, suggestion: str) -> str:
        """Returns a name for a source in the checkpoint: readable, stable, unique within the flow.

        It depends on what is read, not on where it is in the query, so that a source keeps its
        progress when others are added, removed or reordered.
        """
        base = re.sub(r"[^A-Za-z0-9_]+", "_", self._chosen_name or suggestion).strip("_") or "source"
        for ordinal in itertools.count(1):
            name = base if ordinal == 1 else f"{base}_{ordinal}"
            if name.casefold() not in self._names:
                self._names.add(name.casefold())
                return name
        raise AssertionError  # pragma: no cover - count() does not end

    def table_source_name(self, table: Identifier) -> str:
        """As `source_name`, for a table of the pipeline: tables of two catalogs keep names of their own."""
        return self.source_name(table.name if table.catalog is None else str(table))

    def _read_again(self, name: str) -> str:
        """Notes that the query reads a source at one more place, and names the read there."""
        another = self.source_name(name)
        self.sources.extend(replace(read, name=another) for read in [*self.sources] if read.name == name)
        return another

    # ---- ReadHandler ----

    def table(
        self,
        spark: SparkSession,
        name: str,
        *,
        streaming: bool,
        options: Mapping[str, str],
        source_name: str | None = None,
    ) -> DataFrame | None:
        """Answers a read by name: the pipeline's datasets first, then the storage's tables."""
        self._chosen_name = source_name
        try:
            if streaming and self.settings.batch:
                computed = self.catalog.find(self._qualified(name)) is not None
                options, streaming = delta_options(options, name, computed=computed), False
            elif streaming:
                options = {**stream_options(options, self.checkpoint), **self.more_options("delta")}
            return self._table(spark, name, streaming=streaming, options=options)
        finally:
            self._chosen_name = None

    def _table(
        self, spark: SparkSession, name: str, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame | None:
        written, name = name, self._qualified(name)
        identifier = self.catalog.find(name)
        if identifier is not None:
            return self.catalog.open(identifier, self, streaming=streaming, options=options)
        stored = self.catalog.stored(name)
        if stored is None:
            if _jvm.is_temporary_view(spark, name):
                # The function's own view: its reads were noted when it was made, and STREAM(it) is what it is.
                return spark.table(name)
            if not streaming:
                self.note(Input("table", name, streaming=False))
            return self._elsewhere(spark, name, streaming, options) if name != written else None
        if not streaming:
            self._note_place(Input("delta", name, streaming=False), stored)
            return self.settings.sample(spark.read.format("delta").options(**options).load(stored))
        source = self.source_name(name)
        self.note(Input("delta", name, streaming=True, name=source))
        return spark.readStream.format("delta").options(**options).name(source).load(stored)

    def _elsewhere(self, spark: SparkSession, name: str, streaming: bool, options: Mapping[str, str]) -> DataFrame:
        """Returns a table of the catalog that USE CATALOG named, which Spark does not know: it gets the whole name."""
        if not streaming:
            return spark.read.options(**options).table(name)
        read = StreamRead("table", options, path=name, name=self._chosen_name)
        return self.stream(
            spark,
            read,
            lambda chosen, more: named_source(spark.readStream.options(**{**options, **more}), chosen).table(name),
        )

    def stream(self, spark: SparkSession, read: StreamRead, load: Load) -> DataFrame:
        """Answers a streaming read of something outside the pipeline, through the connector of its format."""
        requested, source = read.format, source_of(read.format)
        description = shown_path(describe_source(read, source), self.settings.directory)
        name = self.source_name(read.name or f"{requested}_{description.rstrip('/').rpartition('/')[2]}")
        if self.settings.outside is not None:
            place = SourcePlace(self.dataset or name, name, self.schemas(name))
            declared = self._source_read(spark, read, load, name, description)
            read, load = self.settings.outside.source(spark, read, lambda *_: source.stream(declared), place)
            source = source_of(read.format)
        streaming = not self.settings.batch
        found = Input(requested, description, streaming, replayable=source.replayable, limits=read.limits)
        self.note(replace(found, name=name if streaming else None))
        read = replace(read, options={**read.options, **secret_options(read.options, self.settings.secret)})
        source_read = checked(source, self._source_read(spark, read, load, name, description))
        source_read = replace(source_read, persist=self.settings.persist, opened=self.auto_loader_sources.append)
        if isinstance(source, ChecksAccess):
            self.checks.append(partial(source.check, source_read))
        return source.stream(source_read) if streaming else self.settings.sample(read_batch(source, source_read))

    def batch(self, spark: SparkSession, read: StreamRead) -> DataFrame | None:
        """Answers a batch read of a format that Spark does not have, through its connector."""
        if (source := batch_source_of(read.format)) is None:
            return None
        read = replace(read, path=None if read.path is None else map_path(read.path, self.settings))
        description = shown_path(describe_source(read, source), self.settings.directory)
        self.note(Input(read.format, description, streaming=False))
        read = replace(read, options={**read.options, **secret_options(read.options, self.settings.secret)})
        source_read = self._source_read(spark, read, no_stream, read.format, description)
        return self.settings.sample(read_batch(source, checked(source, source_read)))

    def _source_read(
        self, spark: SparkSession, read: StreamRead, load: Load, name: str, description: str
    ) -> SourceRead:
        return SourceRead(
            format=read.format,
            options=read.options,
            schema=read.schema,
            path=read.path,
            name=name,
            spark=spark,
            load=load,
            more_options=self.more_options,
            description=description,
            schemas=self.schemas(name),
            checkpoint=self.checkpoint,
            place=lambda path: map_path(path, self.settings),
        )

    def path(self, path: str, *, batch: bool) -> str:
        """Maps a path of another platform to a local one and a relative one to the pipeline's folder."""
        where = map_path(path, self.settings)
        if batch:
            self._note_place(Input("files", path, streaming=False), where)
        return where

    def _note_place(self, read: Input, path: str) -> None:
        self.note(read)
        self.places[local_path(path).rstrip("/")] = read.source

    def statement(self, spark: SparkSession, statement: str, execute: Callable[[str], DataFrame]) -> DataFrame:
        """Runs a SQL statement in which names and table functions mean what they mean in a pipeline."""
        return run_statement(self, spark, statement, execute)

    def table_function(self, name: str) -> TableFunction | None:
        """Returns what a call by a folded name means; None leaves it to Spark."""
        return self.functions.get(name) or TABLE_FUNCTIONS.get(name)

    @property
    def secret(self) -> Secret:
        """Gives the value of a secret of the pipeline."""
        return self.settings.secret

    def action(self, method: str) -> None:
        """Refuses to run a job inside a dataset function; module-level code may."""
        if self.dataset is not None:
            raise DefinitionError("ACTION_IN_DATASET_FUNCTION", dataset=self.dataset, method=method)

    def _qualified(self, name: str) -> str:
        """Puts what USE said before a name without it: the schema only when there is such a table."""
        parts = split_name(name)
        if self._catalog is not None and len(parts) < 3 and parts[0].casefold() != "live":
            if len(parts) == 1 and (self.catalog.is_view(name) or _jvm.is_temporary_view(self.spark, name)):
                return name
            schema = parts[0] if len(parts) > 1 else self._schema or "default"
            return Identifier(schema, parts[-1], self._catalog).sql
        if self._schema is None or len(parts) > 1:
            return name
        qualified = f"`{self._schema}`.{name}"
        return qualified if self.catalog.find(qualified) or self.catalog.stored(qualified) else name


def describe_source(read: StreamRead, source: Source) -> str:
    """Returns what a person calls the source: its topics, its path; never a credential."""
    named = (read.option(name) for name in places(source.options or ()))
    return next(filter(None, (*named, read.path, read.option("path"))), read.format)


def shown_path(path: str, directory: Path) -> str:
    """Returns a path inside the pipeline's folder relative to it, as its author writes it; others as they are."""
    return f"./{Path(path).relative_to(directory)}" if Path(path).is_relative_to(directory) else path


def map_path(path: str, settings: EvaluationSettings) -> str:
    """Applies the `paths` mapping of the configuration, then the pipeline's folder to a relative path.

    Raises:
        DefinitionError: PATH_NOT_MAPPED.
    """
    path = resolve_path(path, settings.paths)
    if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", path) or path.startswith("/"):
        return path
    return str(settings.directory / path)


def table_path(table: Table, layout: StorageLayout, settings: EvaluationSettings) -> str:
    """Returns where a table that the pipeline declares lies: its own `path`, else its place in the storage.

    Raises:
        DefinitionError: PATH_NOT_MAPPED, TABLE_ON_OBJECT_STORE, TABLE_PATH_UNSUPPORTED, at the table's place.
    """
    if table.path is None:
        return layout.table(table.identifier)
    try:
        path = map_path(table.path, settings)
    except DefinitionError as error:
        error.location, error.dataset = table.location, str(table.identifier)
        raise
    name = str(table.identifier)
    if (store := store_of(path)) is not None:
        path = store.table_uri(path)
        if (reason := store.unsupported_for_table(path)) is not None:
            raise DefinitionError(
                "TABLE_PATH_UNSUPPORTED", location=table.location, dataset=name, name=name, path=path, reason=reason
            )
    elif "://" in path and not path.startswith("file:"):
        raise DefinitionError("TABLE_ON_OBJECT_STORE", location=table.location, dataset=name, name=name, path=path)
    return path
