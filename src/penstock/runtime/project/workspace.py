"""A pipeline on a Spark session: files loaded, queries analysed, state inspected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.analysis import Resolver, pipeline_trigger, with_view_quarantines
from penstock.analysis.fallible_casts import one_a_file
from penstock.config import PipelineConfig
from penstock.declare import check_syntax, load_pipeline
from penstock.declare.registry import PipelineRegistry
from penstock.errors import DefinitionError, PenstockError, PipelineInvalid
from penstock.graph.batch import as_batch
from penstock.graph.companions.quarantine import owner_of
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.rules import check
from penstock.plan.maintenance import due_maintenance
from penstock.plan.planner import plan_update
from penstock.plan.selection import RefreshSelection, ResolvedSelection
from penstock.plan.stages import MaintainTable, UpdatePlan
from penstock.plan.state import StateSnapshot
from penstock.runtime.storage_state.catalog import module_catalog, published_table
from penstock.runtime.storage_state.own_catalog import check_own_catalog
from penstock.runtime.storage_state.state import snapshot, table_paths
from penstock.runtime.storage_state.stream_notes import runs_complete
from penstock.spark.evaluation import Evaluation, EvaluationSettings
from penstock.spark.failures.translate import translate_analysis
from penstock.spark.reading.hooks import install_read_hooks
from penstock.spark.reading.outside import Outside
from penstock.spark.reading.read_handler import handling_reads
from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.session import start_session
from penstock.spark.session.snapshot_partitions import fit_snapshot_partitions
from penstock.spark.sources.auto_loader import forget_inferred
from penstock.spark.sql.membership import define_membership, mentions_membership
from penstock.storage import StorageLayout
from penstock.storage.maintenance_records import read_maintenance
from penstock.storage.stores.settings import use_store_settings

Progress = Callable[[str], None]


def say_nothing(_: str) -> None:
    """The progress of a caller that wants none."""


# Fewer are busy with one flow: a second beside it makes both slower (docs/decisions/overlap-only-stateless-flows.md).
_CORES_TO_OVERLAP = 3


def _translated(error: BaseException) -> PenstockError | None:
    """What module-level code met in Spark, in the words of its author."""
    if not isinstance(error, PySparkException):
        return None
    return translate_analysis(error, known=(), location=None, dataset=None)


def load_files(
    config: PipelineConfig,
    files: Sequence[Path],
    *,
    configuration: Mapping[str, str],
    spark: SparkSession | None = None,
) -> PipelineRegistry:
    """Loads a pipeline's files as its configuration wants them loaded; see `load_pipeline`."""
    return load_pipeline(
        files,
        root=config.directory,
        spark=spark,
        configuration={**config.identity, **configuration},
        default_schema=config.schema,
        translate=_translated,
        paths=config.paths,
        secrets=config.secrets,
        stand_ins=config.stand_ins,
    )


def check_files(config: PipelineConfig) -> None:
    """Refuses a pipeline whose files are missing or are no Python: for who would wait for Spark first.

    Raises:
        ConfigError: there are no files.
        PipelineInvalid: SYNTAX_ERROR_IN_PIPELINE_FILE, PIPELINE_FILE_UNREADABLE.
    """
    check_syntax(config.source_files(), root=config.directory)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A pipeline's configuration together with the session that it runs on.

    Relative paths in the pipeline's code lead into `data`: the folder of the pipeline, unless another one's code is
    tried on its data. `outside` stands in the place of what the pipeline reads and writes elsewhere.
    """

    config: PipelineConfig
    spark: SparkSession
    layout: StorageLayout
    data: Path
    outside: Outside | None = None

    @classmethod
    def open(
        cls,
        config: PipelineConfig,
        progress: Progress,
        *,
        spark: SparkSession | None = None,
        short: bool = False,
        data: Path | None = None,
        outside: Outside | None = None,
    ) -> Workspace:
        """Starts Spark, unless the caller has a session; `short` work runs no batches.

        Raises:
            ConfigError, ExternalError: what keeps Spark from starting.
        """
        if spark is None:
            use_store_settings(config.resolve_spark_conf, file=config.file)
            wanted = SessionConfig.of(config, short_lived=short)
            spark = start_session(wanted, progress=progress)
        install_read_hooks()
        return cls(config, spark, StorageLayout(config.storage), data or config.directory, outside)

    def settings(self, *, persist: bool, reports_casts: bool = False) -> EvaluationSettings:
        """Returns what all evaluations share; without `persist` nothing is written."""
        batch = self.config.batch_of is not None
        config = self.config
        return EvaluationSettings(
            self.data,
            config.paths,
            persist,
            batch,
            self.outside,
            config.secret,
            reports_casts and config.expects_null(),
        )

    @property
    def shared(self) -> StorageLayout:
        """The storage whose tables can be read by name although the pipeline does not declare them."""
        return StorageLayout(self.config.shared_storage)

    def resolve(
        self, progress: Progress, *, reports_casts: bool = True, prepare: Callable[[Resolver], None] = lambda _: None
    ) -> ResolvedGraph:
        """Loads the pipeline's files and analyses every query; runs and writes nothing.

        `reports_casts` allows notices of casts that can fail. `prepare` is called with the resolver before it begins.

        Raises:
            PipelineInvalid: everything that is wrong, together.
            ConfigError: there are no files.
        """
        try:
            published = partial(published_table, self.shared)
            return self.analyse(
                self.load(progress), progress, stored_table=published, reports_casts=reports_casts, prepare=prepare
            )
        except PipelineInvalid as invalid:
            invalid.redact(self.config.redact)
            forget_inferred()
            raise

    def analyse(
        self,
        registry: PipelineRegistry,
        progress: Progress,
        *,
        stored_table: Callable[[Identifier], str | None],
        reports_casts: bool = True,
        prepare: Callable[[Resolver], None] = lambda _: None,
    ) -> ResolvedGraph:
        """Analyses every query of what was declared; runs and writes nothing.

        `prepare` is called with the resolver before it begins.
        `stored_table` returns the path of a table that is not declared, None for one that is not there.

        Raises:
            PipelineInvalid: everything that is wrong, together.
        """
        config = self.config
        graph = registry.graph()
        errors = [*registry.errors, *check(graph)]
        if self.outside is not None:
            graph = self.outside.targets(graph)
        whole = with_view_quarantines(graph)
        resolver = Resolver(
            spark=self.spark,
            graph=whole if config.batch_of is None else as_batch(whole),
            layout=self.layout,
            settings=self.settings(persist=False, reports_casts=reports_casts),
            default_schema=registry.default_schema,
            stored_table=stored_table,
            runs_complete=lambda flow: runs_complete(self.layout.checkpoints(flow.target, flow.name)),
            strict=config.strict,
        )
        progress(f"Analysing {len(graph.datasets)} dataset{'s' if len(graph.datasets) != 1 else ''}")
        prepare(resolver)
        try:
            resolved = resolver.resolve()
        except PipelineInvalid as invalid:
            raise PipelineInvalid([*errors, *invalid.errors], invalid.downstream) from None
        errors += pipeline_trigger(resolved, config.trigger)
        errors += _event_log_name(resolved, config)
        errors += _in_session_catalog(resolved, self.spark)
        if errors:
            raise PipelineInvalid(errors)
        try:
            self.paths(resolved)  # a path that is nowhere is reported before anything is created
        except DefinitionError as error:
            raise PipelineInvalid([error]) from None
        warnings = (*config.warnings, *registry.notices, *one_a_file(resolved.warnings))
        return replace(resolved, warnings=warnings)

    def define_functions(self, progress: Progress) -> None:
        """Runs the pipeline's files for the functions that they define on the session; other mistakes do not matter."""
        with suppress(PenstockError):
            self.load(progress)

    def load(self, progress: Progress) -> PipelineRegistry:
        """Runs the pipeline's files and returns what they declare, mistakes among it; analyses nothing.

        Raises:
            ConfigError: there are no files.
        """
        config = self.config
        files = config.source_files()
        later = {key: value for key, value in config.configuration.items() if key not in config.spark_conf}
        progress(f"Reading {len(files)} file{'s' if len(files) != 1 else ''}")
        if mentions_membership(file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()):
            define_membership(self.spark, config.access.roles)
        reads = Evaluation(
            self.spark,
            module_catalog(self.shared, config.schema),
            self.settings(persist=False),
            lambda source: self.layout.schemas(Identifier("", ""), "module", source),
            dataset=None,
        )
        with handling_reads(reads):
            return load_files(config, files, configuration=later, spark=self.spark)

    def plan(self, graph: ResolvedGraph, selection: RefreshSelection) -> UpdatePlan:
        """Compares the graph with the storage and returns the steps of an update; fits the session to its tables.

        Raises:
            ConfigError, StateError: the selection or the storage does not allow it.
        """
        check_own_catalog(self.layout, graph.catalog, graph.targets)
        if self.config.batch_of is not None:
            selection = selection.as_full_refresh()
        chosen = selection.resolve(graph, default_schema=DefaultSchema(self.config.schema, graph.catalog))
        state = snapshot(graph, self.layout, self.paths(graph), pipeline=self.config.name)
        fit_snapshot_partitions(self.spark, state.most_files, self.config.spark_conf)
        overlap = self.spark.sparkContext.defaultParallelism >= _CORES_TO_OVERLAP
        plan = plan_update(graph, state, chosen, overlap=overlap)
        return replace(plan, stages=(*plan.stages, *self._due(state, chosen)))

    def _due(self, state: StateSnapshot, chosen: ResolvedSelection) -> Iterator[MaintainTable]:
        settings = self.config.maintenance
        if not settings.automatic:
            return
        selected = {name: each for name, each in state.tables.items() if (owner_of(name) or name) in chosen.refreshed}
        records = read_maintenance(self.layout)
        yield from due_maintenance(selected, records, now=time.time(), interval=settings.interval)

    def paths(self, graph: ResolvedGraph) -> dict[Identifier, str]:
        """Returns where each table of the pipeline lies."""
        return table_paths(graph, self.layout, self.settings(persist=False))


def _in_session_catalog(graph: ResolvedGraph, spark: SparkSession) -> Iterator[PenstockError]:
    """Refuses datasets in a catalog of the session, whose tables are not the storage's."""
    others = {name.catalog for name in graph.order} - {None}
    of_session = {each for each in others if spark.conf.get(f"spark.sql.catalog.{each}", None) is not None}
    for name in graph.order:
        if name.catalog in of_session:
            yield graph.dataset(name).error("DATASET_IN_SESSION_CATALOG", name=name, catalog=name.catalog)


def _event_log_name(graph: ResolvedGraph, config: PipelineConfig) -> Iterator[PenstockError]:
    """Refuses a dataset with the name of the table that is to have the event log."""
    for name in graph.order:
        if name == config.event_log:
            yield graph.dataset(name).error("EVENT_LOG_NAME_TAKEN", name=name)
