"""Spark SQL over a pipeline's tables, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.access.sight import Sight, everything
from penstock.config import PipelineConfig
from penstock.errors import DefinitionError, StateError
from penstock.events import read_events
from penstock.events.codec import LINE_COLUMNS, encode
from penstock.events.dlt_columns import sql_columns
from penstock.events.log.segments import list_segments, replaced_segments
from penstock.graph.identifier import Identifier
from penstock.graph.protection import Protection, stored_protection
from penstock.runtime.commands.explain_view import ExplainedQuery, explained_query, refresh_eligibility
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Workspace
from penstock.runtime.storage_state.catalog import stored_table
from penstock.runtime.storage_state.state import table_names
from penstock.spark.delta.protection import protect
from penstock.spark.evaluation import Evaluation
from penstock.spark.failures.causes import causes_of, reason_of
from penstock.spark.failures.translate import missing_files, translate_analysis
from penstock.spark.plans.inspection import plan_text
from penstock.spark.reading.read_handler import handling_reads
from penstock.spark.sql.arguments import TableName
from penstock.spark.sql.collecting import collect_rows
from penstock.spark.sql.functions import TableFunctionCall
from penstock.spark.sql.membership import define_membership, mentions_membership
from penstock.storage import Storage, StorageLayout
from penstock.storage.delta.table import table_properties

_EVENT_LOG: Final = "event_log"

_PLAN: Final = ["plan"]
"""The column of EXPLAIN."""


@dataclass(frozen=True, slots=True)
class View:
    """What a query may name beside the tables: columns as DDL, and the rows, asked for when it is named."""

    columns: str
    rows: Callable[[], Iterable[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Function:
    """What a query may call, with a table, `f(TABLE(t))`, or with a path, `f('path')`: columns as DDL, and the rows."""

    columns: str
    of_table: Callable[[str], Iterable[tuple[Any, ...]]]
    of_path: Callable[[str], Iterable[tuple[Any, ...]]]

    def __call__(self, call: TableFunctionCall) -> DataFrame:
        """Answers a call.

        Raises:
            DefinitionError: the TABLE_FUNCTION_… conditions.
        """
        arguments = call.bind("source")
        given = arguments.take("source")
        if given is not None and isinstance(given.value, TableName):
            rows = self.of_table(given.value.name)
        elif given is not None and isinstance(given.value, str):
            rows = self.of_path(given.value)
        elif given is not None:
            raise arguments.invalid(given, "is neither a table nor a path", f"{call.name}(TABLE(name))")
        else:
            example = f"{call.name}(TABLE(name))"
            raise DefinitionError(
                "TABLE_FUNCTION_ARGUMENT_MISSING", function=call.name, argument="table or path", example=example
            ).at(call.position)
        arguments.options(known=())
        return call.spark.createDataFrame(list(rows), self.columns)


def run_sql(
    config: PipelineConfig,
    statement: str,
    *,
    progress: Callable[[str], None] | None = None,
    spark: SparkSession | None = None,
    views: Mapping[str, View] | None = None,
    functions: Mapping[str, Function] | None = None,
    elsewhere: Callable[[], Mapping[Identifier, str]] = dict,
    found: Callable[[Identifier], None] = lambda _: None,
    sight: Callable[[], Sight] = lambda: everything,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Runs one query and returns its column names and all of its rows.

    Names resolve against the tables of the storage and those that lie `elsewhere`, by `path` of their
    declaration, then against Spark's catalog; `event_log` is the
    pipeline's event log, and so is the function of that name, whose argument says on Databricks which
    one. Each of `views` that the statement names is made first; it may call `functions`. A table with a
    row filter or masks is read through its enforcing view. `found` is called with each table before it is read. `sight`
    returns what of the event log is seen; it is called when the statement names it. EXPLAIN of a
    query runs nothing, and that of CREATE MATERIALIZED VIEW also says how the view would be refreshed.

    Raises:
        DefinitionError: the query cannot be parsed or analysed.
        PenstockError: what `views`, `functions` and `found` raise.
        StateError: TABLE_PROTECTION_FAILED.
    """
    say = progress or (lambda _: None)
    explained = explained_query(statement)
    with watched_workspace(config, say, spark=spark) as workspace:
        named: dict[str, Callable[[TableFunctionCall], DataFrame]] = dict(functions or {})
        if re.search(rf"\b{_EVENT_LOG}\b", statement, re.IGNORECASE):  # by no other way: what is not there is not read
            events = _seen_events(workspace, sight())
            events.createOrReplaceTempView(_EVENT_LOG)
            named[_EVENT_LOG] = lambda _: events
        catalog = ReaderCatalog(
            workspace.layout, config.schema, lambda: workspace.define_functions(say), cache(elsewhere), cache(found)
        )
        reads = Evaluation(
            workspace.spark,
            catalog,
            workspace.settings(persist=False),
            lambda source: workspace.layout.schemas(Identifier("", ""), "sql", source),
            dataset=None if explained is None else "EXPLAIN",  # where nothing is run
            functions=named,
        )
        if mentions_membership([statement]):
            define_membership(workspace.spark, config.access.roles)
        for name, view in (views or {}).items():
            if re.search(rf"\b{name}\b(?!\s*\()", statement, re.IGNORECASE):
                workspace.spark.createDataFrame(list(view.rows()), view.columns).createOrReplaceTempView(name)
        try:
            if explained is not None:
                return _PLAN, [(_explain(explained, workspace, catalog, reads),)]
            with handling_reads(reads):
                frame = workspace.spark.sql(statement)
            rows = collect_rows(frame)
        except PySparkException as error:
            known = tuple(map(str, table_names(workspace.layout)))
            raise translate_analysis(error, known=known, location=None, dataset=None) from error
        except Py4JJavaError as error:
            if (missing := missing_files(causes_of(error), dataset=None)) is None:
                raise
            raise missing from error
    return frame.columns, rows


def _explain(explained: ExplainedQuery, workspace: Workspace, catalog: ReaderCatalog, reads: Evaluation) -> str:
    """Returns the plan of a query as readers see the tables: rows of a protected one could be counted in it."""
    refreshed = "" if explained.view is None else refresh_eligibility(explained.view, workspace, catalog.place)
    with handling_reads(reads):
        frame = workspace.spark.sql(explained.text)
    return "\n".join(filter(None, (plan_text(frame, explained.form), refreshed)))


def _events(workspace: Workspace) -> DataFrame:
    spark, storage = workspace.spark, Storage(workspace.layout.uri)
    segments: str | list[str] = [segment.uri for _, segment in list_segments(storage)]
    if not segments:
        return spark.createDataFrame([], LINE_COLUMNS).selectExpr(*sql_columns())
    if not replaced_segments(storage):
        segments = workspace.layout.events  # which Spark lists faster than many files
    lines = spark.read.schema(LINE_COLUMNS).option("pathGlobFilter", "*.jsonl").json(segments)
    return lines.where("id IS NOT NULL").selectExpr(*sql_columns())  # a line torn by a crash parses to a row of nulls


def _seen_events(workspace: Workspace, sight: Sight) -> DataFrame:
    """As `_events`; unless all of them are seen, Python reads each line."""
    if sight is everything:
        return _events(workspace)
    lines = [(encode(event),) for event in filter(None, map(sight, read_events(workspace.layout.uri)))]
    frame = workspace.spark.createDataFrame(lines, "line STRING")
    return frame.selectExpr(f"from_json(line, '{LINE_COLUMNS}') AS event").select("event.*").selectExpr(*sql_columns())


@dataclass(frozen=True, slots=True)
class ReaderCatalog:
    """Answers reads with the tables of the storage, and with those that lie `elsewhere`, looked up once.

    `define_functions` makes the functions known that filters and masks call; it is called before the
    first protected table is read. `found` is called with each table that is there, before it is read.
    """

    layout: StorageLayout
    default_schema: str
    define_functions: Callable[[], None]
    elsewhere: Callable[[], Mapping[Identifier, str]] = dict
    found: Callable[[Identifier], None] = lambda _: None

    def find(self, name: str) -> Identifier | None:
        """Returns the protected table of that name; others are left to `stored`."""
        identifier = Identifier.parse(name, default_schema=self.default_schema)
        path = self.place(identifier)
        is_protected = path is not None and _protection(identifier, table_properties(path)) is not None
        return identifier if is_protected else None

    def is_view(self, name: str) -> bool:
        """A reader knows no views of the pipeline."""
        return False

    def stored(self, name: str) -> str | None:
        """Returns the path of an open table."""
        return self.place(Identifier.parse(name, default_schema=self.default_schema))

    def place(self, identifier: Identifier) -> str | None:
        """Returns the path of a table, None for one that is not there.

        Raises:
            PenstockError: what `found` raises.
        """
        path = self.elsewhere().get(identifier) or stored_table(self.layout, identifier)
        if path is not None:
            self.found(identifier)
        return path

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns the enforcing view of a protected table.

        Raises:
            StateError: TABLE_PROTECTION_FAILED when it cannot be enforced.
        """
        path = self.place(identifier)
        assert path is not None, "find() says so"
        reader = evaluation.spark.readStream if streaming else evaluation.spark.read
        frame = reader.format("delta").options(**options).load(path)
        return for_readers(frame, identifier, table_properties(path), self.define_functions)


def for_readers(
    frame: DataFrame, identifier: Identifier, properties: Mapping[str, str], define_functions: Callable[[], None]
) -> DataFrame:
    """Returns what readers see of `frame`, a version of a table that was opened before its `properties` were read.

    `define_functions` makes the functions known that filters and masks call.

    Raises:
        StateError: TABLE_PROTECTION_FAILED when it cannot be enforced.
    """
    protection = _protection(identifier, properties)
    if protection is None:
        return frame
    define_functions()
    try:
        return protect(frame, protection)
    except PySparkException as error:
        raise StateError(
            "TABLE_PROTECTION_FAILED", dataset=str(identifier), name=identifier, reason=reason_of(error)
        ) from error


def _protection(identifier: Identifier, properties: Mapping[str, str]) -> Protection | None:
    try:
        return stored_protection(properties)
    except ValueError as error:
        raise StateError("TABLE_PROTECTION_FAILED", dataset=str(identifier), name=identifier, reason=error) from error
