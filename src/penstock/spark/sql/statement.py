"""Runs a SQL statement of a pipeline: what it reads becomes a view over what that means there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DefinitionError, StatementPosition, did_you_mean
from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.failures.statement_places import placing, statement_position
from penstock.spark.reading.read_handler import ReadHandler
from penstock.spark.reading.recorded_options import named_source
from penstock.spark.reading.stream_answers import answer_load
from penstock.spark.sources.stream_read import StreamRead
from penstock.spark.sql.arguments import evaluate
from penstock.spark.sql.column_qualifiers import qualify
from penstock.spark.sql.edits import Edit, EditedStatement, placing_as_spark_says
from penstock.spark.sql.functions import TABLE_FUNCTIONS, TableFunction, TableFunctionCall
from penstock.spark.sql.json_paths import NOT_VARIANT, json_paths
from penstock.spark.sql.references import (
    FunctionReference,
    ParsedStatement,
    TableReference,
    parse_statement,
)
from penstock.spark.sql.watermarks import naming_refused_watermarks

Execute = Callable[[str], DataFrame]
"""Spark's own `spark.sql` of a text, with the arguments of the author's call."""

_FILE_FORMATS = {"delta", "parquet", "json", "csv", "text", "orc", "avro", "binaryfile", "xml"}
_numbers = itertools.count(1)


class StatementReads(ReadHandler, Protocol):
    """What a statement asks the evaluation that it runs in."""

    def table_function(self, name: str) -> TableFunction | None:
        """Returns what a call by a folded name means; None leaves it to Spark."""


def run_statement(reads: StatementReads, spark: SparkSession, statement: str, execute: Execute) -> DataFrame:
    """Runs a statement of the author; called for each `spark.sql` of a pipeline, while no read handler is in force.

    Errors carry their place in the statement: see `statement_position`.

    Raises:
        PySparkException: Spark's own.
        DefinitionError: what a read or a table function refuses; what is wrong with a watermark.
    """
    if "${" in statement:
        # Before it parses, Spark puts in the settings; its positions are those in the result.
        statement = _jvm.substitute_variables(spark, statement)
    with naming_refused_watermarks(statement):
        return _run(reads, spark, statement, execute)


def _run(reads: StatementReads, spark: SparkSession, statement: str, execute: Execute) -> DataFrame:
    with placing_as_spark_says(EditedStatement(statement)):
        parsed = parse_statement(spark, statement)
    if parsed.command is not None:
        reads.action(f"spark.sql('{' '.join(statement.split()[:2])} …')")
    run = _Run(reads, spark, statement, execute)
    try:
        tables = [table for table in parsed.tables if not run.is_argument(table, parsed.functions)]
        qualifiers = qualify(parsed.words, tables)
        edits = [edit for table in tables for edit in run.table(table, qualifiers.aliases)]
        edits += [edit for function in parsed.functions for edit in run.function(function)]
        return _execute(parsed, EditedStatement.of(statement, [*edits, *qualifiers.edits]), execute)
    finally:
        # A DataFrame is bound when it is made; a view that a command makes is bound when it is read.
        if parsed.command is None:
            run.forget()


def _execute(parsed: ParsedStatement, edited: EditedStatement, execute: Execute) -> DataFrame:
    """Runs the edited statement; when paths like `column:field` are on text, again with functions in their place.

    Only Spark knows the type of a column. First all paths are taken to be on text, then without those of a column
    that is refused as text; when that is no VARIANT either, what was said of it as text is the error.
    """
    try:
        with placing_as_spark_says(edited):
            return execute(edited.text)
    except (PySparkException, Py4JJavaError) as error:
        if NOT_VARIANT not in str(error) or not (paths := json_paths(parsed.plan, parsed.words, edited.original)):
            raise
    refused: AnalysisException | None = None
    while True:
        by_function = [edit for path in paths for edit in path.as_function()]
        again = EditedStatement.of(edited.original, [*edited.edits, *by_function])
        try:
            with placing_as_spark_says(again):
                return execute(again.text)
        except AnalysisException as error:
            place = statement_position(error)
            variant = {path.column for path in paths if StatementPosition.of(edited.original, path.start) == place}
            if not variant or "get_json_object" not in str(error):
                raise
            paths, refused = [path for path in paths if path.column not in variant], error
        except (PySparkException, Py4JJavaError) as error:
            if refused is None or NOT_VARIANT not in str(error):
                raise
            raise refused from None  # a path on something else, or one whose text becomes what no text can


class _Run:
    """One statement while it runs, and the names that stand in for what it reads."""

    def __init__(self, reads: StatementReads, spark: SparkSession, statement: str, execute: Execute) -> None:
        self._reads, self._spark, self._statement, self._execute = reads, spark, statement, execute
        self._views: list[str] = []
        self._functions: list[str] = []

    def table(self, reference: TableReference, aliases: Mapping[int, str]) -> Iterator[Edit]:
        """Yields the edits that put what a table name means in its place; none leave it to Spark.

        `aliases` are for those that the statement gives none, by their place.
        """
        if reference.common:
            yield from reference.place.replaced_by(reference.name, alias=None)
            return
        with placing(self._statement, reference.place.start):
            frame = self._frame_of(reference)
        alias, place = aliases.get(reference.place.start), reference.place
        if frame is not None:
            yield from place.replaced_by(quoted(self._view(frame)), alias=alias)
        elif alias not in {None, reference.parts[-1]} and place.alias_at is not None:
            yield Edit(place.alias_at, place.alias_at, f" AS {quoted(str(alias))}")

    def is_argument(self, table: TableReference, functions: Iterable[FunctionReference]) -> bool:
        """Whether a table name is an argument of one of our functions, which goes from the statement as a whole."""
        return any(
            function.place.start <= table.place.start < function.place.stop
            for function in functions
            if self._meaning(function) is not None
        )

    def function(self, reference: FunctionReference) -> Iterator[Edit]:
        """Yields the edits that put the rows of a table function in its place; none leave it to Spark."""
        name, offset = ".".join(reference.parts), reference.place.start
        function = self._meaning(reference)
        if function is None:
            if reference.streaming:
                raise _not_a_stream(name, StatementPosition.of(self._statement, offset))
            return
        with placing(self._statement, offset):
            arguments = evaluate(reference.expressions, reference.names, self._statement, offset, self._constant)
            call = TableFunctionCall(
                reads=self._reads,
                spark=self._spark,
                name=name.casefold(),
                statement=self._statement,
                offset=offset,
                streaming=reference.streaming,
                source_name=reference.source_name,
                arguments=tuple(arguments),
            )
            frame = function(call)
        yield from reference.place.replaced_by(self._function(frame), alias=None)

    def forget(self) -> None:
        """Drops the names that this statement made."""
        for view in self._views:
            _jvm.drop_view(self._spark, view)
        for function in self._functions:
            _jvm.drop_relation(self._spark, function)

    def _meaning(self, reference: FunctionReference) -> TableFunction | None:
        return self._reads.table_function(".".join(reference.parts).casefold())

    def _view(self, frame: DataFrame) -> str:
        view = f"__penstock_{next(_numbers)}"
        frame.createOrReplaceTempView(view)
        self._views.append(view)
        return view

    def _function(self, frame: DataFrame) -> str:
        function = f"__penstock_{next(_numbers)}"
        _jvm.register_relation(self._spark, function, frame)
        self._functions.append(function)
        return f"{function}()"

    def _constant(self, expression: str) -> Any:
        row = self._execute(f"SELECT {expression}").first()
        return None if row is None else row[0]

    def _frame_of(self, reference: TableReference) -> DataFrame | None:
        if len(reference.parts) == 2 and reference.parts[0].casefold() in _FILE_FORMATS:
            return self._files_of(reference)
        name, options = reference.name, reference.options
        if reference.timestamp is not None:
            options = {**options, "timestampAsOf": str(self._constant(reference.timestamp))}
        frame = self._reads.table(
            self._spark,
            name,
            streaming=reference.streaming,
            options=options,
            source_name=reference.source_name,
        )
        if frame is None and reference.streaming:
            read = StreamRead("table", reference.options, path=name, name=reference.source_name)
            return self._reads.stream(
                self._spark,
                read,
                lambda chosen, more: named_source(
                    self._spark.readStream.options(**{**read.options, **more}), chosen
                ).table(name),
            )
        return frame

    def _files_of(self, reference: TableReference) -> DataFrame | None:
        """Reads a `` format.`path` `` of SQL, unless Spark can as well do it by itself."""
        source_format, path = reference.parts
        if reference.streaming:
            reader = self._spark.readStream.options(**reference.options)
            if reference.source_name is not None:
                reader = reader.name(reference.source_name)
            if source_format.casefold() == "delta":
                return answer_load(self._reads, self._spark, reader.format("delta"), path)
            # Spark's own file stream would want a schema that SQL has no place for.
            inferred = {"cloudFiles.format": source_format, "cloudFiles.inferColumnTypes": "true"}
            reader = reader.format("cloudFiles").options(**inferred)
            return answer_load(self._reads, self._spark, reader, path)
        where = self._reads.path(path, batch=True)
        if where == path and not reference.options:
            return None
        return self._spark.read.format(source_format).options(**reference.options).load(where)


def _not_a_stream(name: str, position: StatementPosition) -> DefinitionError:
    suggestion = did_you_mean(name, TABLE_FUNCTIONS)
    return DefinitionError(
        "UNSUPPORTED_TABLE_FUNCTION",
        name=f"STREAM {name}",
        reason=f"the rows of '{name}' do not arrive as a stream",
        alternative=suggestion or f"Call {name}(…) without STREAM",
    ).at(position)
