"""Analyses one dataset function: its schema, inputs, output mode and stateful operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.analysis.catalog import AnalysisCatalog, ReadNotAnswered, plain_schema
from penstock.analysis.fallible_casts import cast_notices
from penstock.analysis.snapshots import first_snapshot
from penstock.analysis.update_keys import update_keys
from penstock.declare.user_frames import caller_location, failure_location
from penstock.errors import PenstockError, PipelineInvalid, SourceLocation, did_you_mean
from penstock.graph.elements import (
    ChangeFlow,
    Dataset,
    OutputMode,
    Sink,
    SnapshotChangeFlow,
    Table,
    UnresolvedFlow,
    declared_mode,
)
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import AppliedChanges, EndlessState, QueryDefinition, ResolvedFlow
from penstock.graph.sql_query import SqlQuery
from penstock.graph.unbounded_state import STREAM_JOIN
from penstock.spark.evaluation import Evaluation, EvaluationSettings
from penstock.spark.expectations.observed import observe_expectations
from penstock.spark.failures.causes import reason_of
from penstock.spark.failures.translate import translate_analysis
from penstock.spark.lineage.query import column_lineage
from penstock.spark.plans.definition import query_definition
from penstock.spark.plans.inspection import (
    append_distinct,
    possible_output_modes,
    streaming_only_operators,
    supported_output_mode,
    watermark,
)
from penstock.spark.plans.operator_calls import recording_operator_calls
from penstock.spark.plans.stream_definition import stream_definition
from penstock.spark.plans.watermarks import OperatorRetention, one_sided_joins, operator_retention
from penstock.spark.session.query_settings import spark_settings
from penstock.spark.sources.source import not_possible
from penstock.spark.writers.changes.resolve import judged_expectations, resolve_changes
from penstock.spark.writers.changes.snapshots import followed_snapshot, snapshot_target
from penstock.spark.writers.incremental.refresh import capability


@dataclass(frozen=True, slots=True)
class _Source:
    """What a flow reads and, of one that applies changes, what these are and its target's columns, `written`.

    `followed` makes of `frame`, or of its rows that meet expectations, the query of the target's columns.
    """

    frame: DataFrame
    applied: AppliedChanges | None = None
    written: StructType | None = None
    followed: Callable[[DataFrame], DataFrame] = lambda frame: frame


@dataclass(frozen=True, slots=True)
class QueryAnalyser:
    """Calls dataset functions under an analysis catalog; writes nothing.

    `target_path` says where a table of the pipeline lies, whether or not it exists.
    """

    spark: SparkSession
    catalog: AnalysisCatalog
    settings: EvaluationSettings
    known_names: tuple[str, ...]
    target_path: Callable[[Identifier], str]

    def analyse(
        self,
        flow: UnresolvedFlow,
        target: Dataset | Sink,
        *,
        schemas: Callable[[str], str],
        modes: Sequence[OutputMode],
        around: Callable[[], object],
        runs_complete: Callable[[], bool],
    ) -> tuple[ResolvedFlow, tuple[PenstockError, ...]]:
        """Calls the flow's function once and analyses what it returns; returns the flow, and the notices about it.

        `modes` are the output modes that the target takes, the best one first; empty for a view.
        `runs_complete` says whether the flow has a checkpoint of complete mode, which goes on so.
        `around` says on what the result of a batch query depends beside the query, as JSON-ready data: see
        `query_definition`.

        Raises:
            PenstockError: whatever is wrong with it, with its place; PipelineInvalid for several.
            UpstreamFailed, NotYetResolved: see the catalog.
        """
        name = str(target.identifier)
        evaluation = Evaluation(self.spark, self.catalog, self.settings, schemas, name)
        calls: list[tuple[str, SourceLocation]] = []
        root = self.settings.directory
        try:
            with recording_operator_calls(lambda operator: calls.append((operator, caller_location(root)))):
                read = self._source(evaluation, flow)
            frame = read.frame
            if modes[:1] == (OutputMode.APPEND,) and (appending := append_distinct(frame)) is not frame:
                frame = frame if OutputMode.COMPLETE in modes and runs_complete() else appending
            if self.settings.batch:
                _check_batch(frame)
            if isinstance(target, Dataset):
                frame = self._expect(evaluation, _judged(flow, target, frame), frame)
            mode = _output_mode(flow, target, frame, modes) if frame.isStreaming and modes else OutputMode.APPEND
            keys = None
            if mode is OutputMode.UPDATE and isinstance(target, Table):
                keys = update_keys(flow, target, frame)
        except (ReadNotAnswered, PipelineInvalid, KeyboardInterrupt):
            raise
        except BaseException as error:  # a user's function can raise anything, SystemExit too
            place = failure_location(error.__traceback__, self.settings.directory) or flow.location
            translated = translate_analysis(error, known=self.known_names, location=place, dataset=name)
            if isinstance(flow.function, SqlQuery) and (position := translated.position) is not None:
                offset = flow.function.text.offset_at(position.line, position.column - 1)
                translated.at(None).location = flow.function.text.location(offset)
            raise translated from error
        schema = plain_schema(frame.schema if read.written is None else read.written)
        retention = operator_retention(frame, mode)
        conf = {**(target.spark_conf if isinstance(target, Table) else {}), **flow.spark_conf}
        resolved = ResolvedFlow(
            flow,
            _flow_type(flow, mode, streaming=frame.isStreaming),
            schema,
            streaming=frame.isStreaming,
            inputs=tuple(dict.fromkeys(evaluation.inputs)),
            stateful=tuple(state.name for state in retention),
            watermark=watermark(frame) if frame.isStreaming else None,
            definition=None if frame.isStreaming or not modes else _definition(flow, read.frame, frame, around()),
            changes=read.applied,
            stream=stream_definition(
                frame, evaluation.sources, mode, None if keys is None else keys.columns, spark_settings(conf)
            )
            if frame.isStreaming and modes
            else None,
            judged=None if read.written is None else plain_schema(frame.schema),
            keys=keys,
            endless=endless_state(retention, calls),
            widens=any(source.options.widens_types for source in evaluation.auto_loader_sources),
            schema_locations=tuple(source.schema_location for source in evaluation.auto_loader_sources),
            lineage=column_lineage(lambda: read.followed(frame), schema.names, evaluation),
            one_sided_joins=one_sided_joins(frame) if STREAM_JOIN in (state.name for state in retention) else (),
        )
        return resolved, (*_notices(evaluation, flow), *self._cast_notices(flow, target, frame))

    def _source(self, evaluation: Evaluation, flow: UnresolvedFlow) -> _Source:
        match flow:
            case ChangeFlow():
                frame = evaluation.call(flow.function)
                changes = resolve_changes(flow, frame)
                return _Source(frame, changes.applied, changes.target_schema, changes.followed)
            case SnapshotChangeFlow():
                frame, versions = first_snapshot(flow, evaluation, lambda: self.target_path(flow.target))
                columns, applied = snapshot_target(flow, frame, versions)
                return _Source(frame, applied, columns, partial(followed_snapshot, flow))
            case _:
                return _Source(evaluation.call(flow.function))

    def _cast_notices(self, flow: UnresolvedFlow, target: Dataset | Sink, frame: DataFrame) -> Iterator[PenstockError]:
        if self.settings.reports_casts:
            rules = target.expectations if isinstance(target, Dataset) else ()
            yield from cast_notices(frame, flow, rules, self.settings.directory)

    @staticmethod
    def _expect(evaluation: Evaluation, dataset: Dataset, frame: DataFrame) -> DataFrame:
        """Applies the expectations; when Spark refuses them, each bad one is reported at its own line."""
        try:
            return evaluation.expect(dataset, frame)
        except PySparkException:
            errors = list(_broken_expectations(frame, dataset))
            if not errors:
                raise
            raise PipelineInvalid(errors) from None


def _flow_type(flow: UnresolvedFlow, mode: OutputMode, *, streaming: bool) -> FlowType:
    if isinstance(flow, ChangeFlow):
        return FlowType.CHANGE
    if isinstance(flow, SnapshotChangeFlow):
        return FlowType.SNAPSHOT_CHANGE
    if flow.once:
        return FlowType.APPEND_ONCE
    if flow.updates:
        return FlowType.UPDATE
    return FlowType(mode.value) if streaming else FlowType.MATERIALIZED_VIEW


def _check_batch(frame: DataFrame) -> None:
    """Makes sure that a query gives as one batch what it gives as a stream.

    Raises:
        DefinitionError: BATCH_NOT_POSSIBLE.
    """
    if operators := streaming_only_operators(frame):
        used = ", ".join(dict.fromkeys(operators))
        raise not_possible(f"what {used} returns depends on the batches of a stream", "Take it out of the pipeline")


def _definition(flow: UnresolvedFlow, query: DataFrame, judged: DataFrame, around: object) -> QueryDefinition:
    """Returns the definition of a batch query; `judged` is the query with the expectations of its table."""
    definition = query_definition(judged, around=around)
    if flow.once or definition.always is not None:
        return definition
    able = capability(query)
    return replace(definition, methods=tuple(method.value for method in able.methods), full=able.why)


def _output_mode(
    flow: UnresolvedFlow, target: Dataset | Sink, frame: DataFrame, modes: Sequence[OutputMode]
) -> OutputMode:
    """Returns the first mode that Spark can run the query in; one that was asked for is not exchanged silently.

    Raises:
        DefinitionError: OUTPUT_MODE_NOT_SUPPORTED.
        AnalysisException: it can run in none of them.
    """
    try:
        return supported_output_mode(frame, modes)
    except AnalysisException as refused:
        declared = declared_mode(flow, target)
        possible = possible_output_modes(frame)
        if declared is None or not possible or not isinstance(target, Table):
            raise
        raise flow.error(
            "OUTPUT_MODE_NOT_SUPPORTED",
            flow=flow.name,
            mode=declared.value,
            reason=reason_of(refused).removesuffix("."),
            possible=" or ".join(f"output_mode='{mode.value}'" for mode in possible),
        ) from None


def _notices(evaluation: Evaluation, flow: UnresolvedFlow) -> tuple[PenstockError, ...]:
    return tuple(
        flow.error("AUTO_LOADER_OPTION_PASSED_OVER", option=option, outcome=outcome)
        for source in evaluation.auto_loader_sources
        for option, outcome in source.options.passed_over.items()
    )


def _judged(flow: UnresolvedFlow, target: Dataset, frame: DataFrame) -> Dataset:
    if not isinstance(flow, (ChangeFlow, SnapshotChangeFlow)):
        return target
    return replace(target, expectations=judged_expectations(flow, frame, target.expectations))


def _broken_expectations(frame: DataFrame, dataset: Dataset) -> Iterator[PenstockError]:
    for expectation in dataset.expectations:
        try:
            observe_expectations(frame, [expectation], dataset=dataset.identifier, occurrence=0)
        except PySparkException as error:
            reason = _reason(error, frame.columns)
            facts = {"constraint": expectation.constraint, "reason": reason}
            yield expectation.error("EXPECTATION_NOT_RESOLVED", dataset.identifier, **facts)


def _reason(error: PySparkException, columns: Iterable[str]) -> str:
    parameters = error.getMessageParameters() or {}
    missing = str(parameters.get("objectName", "")).replace("`", "")
    if not missing:
        return reason_of(error)
    names = list(columns)
    return f"there is no column '{missing}'. " + did_you_mean(
        missing, names, also=f"The columns are {', '.join(names)}."
    )


def endless_state(
    operators: Sequence[OperatorRetention], calls: Iterable[tuple[str, SourceLocation]]
) -> tuple[EndlessState, ...]:
    """Returns those of `operators` (outermost first) that keep their state for ever.

    `calls` are the user's, in their order, which is that of the operators from the inside out. SQL makes operators
    without a call, and a DataFrame that is used twice several with one: then a line is set only if it is the only one.
    """
    places: dict[str, list[SourceLocation]] = {}
    for name, place in calls:
        places.setdefault(name, []).append(place)
    found = []
    for name in dict.fromkeys(operator.name for operator in operators):
        same = [operator for operator in operators if operator.name == name]
        made = places.get(name, [])
        lines: list[SourceLocation | None] = [*reversed(made)]
        if len(made) != len(same):
            lines = [made[0] if len(set(made)) == 1 else None] * len(same)
        found += [EndlessState(name, line) for each, line in zip(same, lines, strict=True) if each.for_ever]
    return tuple(found)
