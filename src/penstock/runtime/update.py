"""One update: from the lock to the last event."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import DefinitionError, PenstockError, UpdateRefused, conditions, exhaustion
from penstock.errors.text import plural
from penstock.events import Event, EventLog, EventType, UpdateState, builders, new_update_id, read_events
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import ExcludeDataset, FlowStage, MaintainTable
from penstock.runtime.flows.accepted_loss import accepted_losses
from penstock.runtime.flows.board import UpdateBoard
from penstock.runtime.flows.schedule import FlowRunner, run_flows
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.maintenance.continuous_maintenance import looking_after_tables
from penstock.runtime.maintenance.tables import Maintenance
from penstock.runtime.project.workspace import Progress, Workspace, check_files, say_nothing
from penstock.runtime.reporting.cluster_watch import watching_cluster
from penstock.runtime.reporting.event_hooks import EventHooks
from penstock.runtime.reporting.event_table import event_table
from penstock.runtime.reporting.followers import Follower, followed_by
from penstock.runtime.reporting.reporter import Reporter
from penstock.runtime.set_up import set_up_tables
from penstock.runtime.storage_state.catalog import StoredCatalog
from penstock.runtime.storage_state.own_catalog import note_own_catalog, noted_catalog
from penstock.spark.reading.outside import Outside
from penstock.spark.session.cluster.executors import Cluster
from penstock.spark.session.session import driver_log
from penstock.spark.sources.auto_loader import store_inferred
from penstock.spark.streams.listener import ProgressListener
from penstock.storage import LockOwner, StorageLayout, StorageLock


@dataclass(frozen=True, slots=True)
class UpdateOutcome:
    """How an update ended. `errors` are those of its flows, in the order of time."""

    state: UpdateState
    update_id: str
    errors: tuple[PenstockError, ...] = ()


def run_update(
    config: PipelineConfig,
    selection: RefreshSelection,
    *,
    accept_data_loss: Sequence[str] = (),
    cause: str = "USER_ACTION",
    on_event: Callable[[Event], None] | None = None,
    followers: Sequence[Follower] = (),
    stop: threading.Event | None = None,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
    outside: Outside | None = None,
    run: FlowRunner = run_flows,
) -> UpdateOutcome:
    """Brings the selected tables up to date; blocks until that is done, or `stop` is set.

    `accept_data_loss` names flows that shall go on without the data whose loss they have reported. The storage is
    locked meanwhile. `on_event` is called with each event, from any thread, and must be quick; `followers` follow the
    log from its first event on; `progress` is called with a line before each slow step of the start. `spark` is a
    session to run on; without one Spark is started, and goes on until this process ends. `outside` stands in the place
    of what the pipeline reads and writes elsewhere; `run` runs the flows and returns when each has ended.

    Raises:
        ConfigError, DefinitionError, StateError: before anything was written to a table.
        ExternalError: Spark did not start or ended.
    """
    conditions()  # read now: an error must be shown when no file can be opened any more
    say = progress or say_nothing
    stopping, abandon = stop or threading.Event(), threading.Event()

    def abandon_storage() -> None:
        """The lock is lost: another run has taken the storage over, or soon may."""
        abandon.set()
        stopping.set()

    update_id = new_update_id()
    lock = StorageLock(config.storage, LockOwner.current(), on_lost=abandon_storage)
    with (
        lock,
        EventLog.open(config.storage, pipeline_name=config.name, update_id=update_id) as log,
        event_table(config, log),
        EventHooks(log, config.directory) as hooks,
        followed_by(followers, log),
    ):
        if on_event is not None:
            log.subscribe(on_event)
        log.append(
            EventType.CREATE_UPDATE,
            *builders.create_update(
                pipeline=config.name,
                cause=cause,
                version=metadata.version("penstock"),
                full_refresh="all" if selection.full_refresh_all else _full_names(selection.full_refresh, config),
                refresh=_full_names(selection.refresh, config),
                continuous=config.keeps_running,
            ),
        )
        if cause == EventType.USER_ACTION.name:
            arguments = {**asdict(selection), "accept_data_loss": list(accept_data_loss)}
            log.append(EventType.USER_ACTION, *builders.user_action("START", arguments=arguments))
        reporter = Reporter(log, config.name, config.redact)
        try:
            reporter.update(UpdateState.WAITING_FOR_RESOURCES)
            if spark is None:
                check_files(config)
            workspace = Workspace.open(config, say, spark=spark, outside=outside)
            cluster = Cluster.of(workspace.spark, driver_log())
            with watching_cluster(cluster, reporter, timeout=config.cluster_timeout, abandon=abandon) as watch:
                state, errors = _run(
                    workspace,
                    selection,
                    accept_data_loss,
                    run,
                    reporter=reporter,
                    hooks=hooks,
                    stop=stopping,
                    abandon=abandon,
                    checks=(lock.check, *(() if watch is None else (watch.check,))),
                    executors_lost=lambda: 0 if cluster is None else cluster.num_lost,
                    lock=lock,
                    say=say,
                )
        except PenstockError as error:
            with suppress(Exception):  # a log that cannot be written must not hide the error
                reporter.update(UpdateState.FAILED, error=error)
            raise
        except BaseException as error:
            exhausted = exhaustion(error)
            with suppress(Exception):
                reporter.update(UpdateState.FAILED, error=exhausted, reason=f"{type(error).__name__}: {error}")
            if exhausted is None:
                raise
            raise exhausted from error
        return UpdateOutcome(state, update_id, errors)


def _run(
    workspace: Workspace,
    selection: RefreshSelection,
    accept_data_loss: Sequence[str],
    run: FlowRunner,
    *,
    reporter: Reporter,
    hooks: EventHooks,
    stop: threading.Event,
    abandon: threading.Event,
    checks: Sequence[Callable[[], None]],
    executors_lost: Callable[[], int],
    lock: StorageLock,
    say: Progress,
) -> tuple[UpdateState, tuple[PenstockError, ...]]:
    config = workspace.config
    reporter.update(UpdateState.INITIALIZING)
    graph = workspace.resolve(say, reports_casts=False)
    hooks.start(graph.event_hooks)
    plan = workspace.plan(graph, selection)
    paths = workspace.paths(graph)
    names = DefaultSchema(config.schema, graph.catalog)
    reporter.definitions(plan.graph, paths)
    reporter.plan(plan)
    if plan.refusals:
        raise UpdateRefused(plan.refusals)
    note_own_catalog(workspace.layout, graph.catalog)
    accepted = accepted_losses(
        accept_data_loss, graph, read_events(config.storage) if accept_data_loss else (), default_schema=names
    )
    for flow, loss in accepted.items():
        reporter.accepted_loss(flow, loss.condition, loss.facts)
    store_inferred({location for flow in graph.flows for location in flow.schema_locations})
    reporter.update(UpdateState.SETTING_UP_TABLES)
    set_up_tables(
        plan,
        workspace.spark,
        retries=config.retries,
        continuous=not config.trigger.stops,
        stop=stop,
        on_retry=reporter.set_up_again,
    )
    flows = tuple(stage for stage in plan.stages if isinstance(stage, FlowStage))
    for stage in plan.of_type(ExcludeDataset):
        reporter.excluded(stage.dataset, stage.explanation)
    board = UpdateBoard(dict(Counter(stage.dataset for stage in flows)))
    listener = ProgressListener()

    def check() -> None:
        for each in (*checks, listener.check):
            each()

    services = FlowServices(
        pipeline=config.name,
        spark=workspace.spark,
        graph=graph,
        paths=paths,
        catalog=StoredCatalog(graph, paths, workspace.shared, names),
        settings=workspace.settings(persist=True),
        layout=workspace.layout,
        listener=listener,
        reporter=reporter,
        board=board,
        retries=config.retries,
        trigger=config.trigger,
        stop=stop,
        abandon=abandon,
        check=check,
        stop_timeout=config.stop_timeout,
        executors_lost=executors_lost,
        accepted=accepted,
    )
    listener.attach(workspace.spark)
    try:
        reporter.update(UpdateState.RUNNING)
        with looking_after_tables(services, config.maintenance):
            run(flows, services)
        due = plan.of_type(MaintainTable)
        if due and services.trigger.stops and not board.errors and not stop.is_set():
            say(f"Maintaining {plural(len(due), 'table')} (OPTIMIZE, VACUUM)")
            Maintenance(workspace.spark, workspace.layout, reporter.maintenance, stop=stop).run(due)
    finally:
        listener.detach(workspace.spark)
    if lock.lost is not None:
        raise lock.lost
    state = _final_state(board, stop)
    reporter.update(state, reason=board.errors[0].message if board.errors else None)
    return state, board.errors


def _full_names(names: Sequence[str], config: PipelineConfig) -> list[str]:
    """The names as the log spells those of datasets; what is no name is reported by the selection.

    The pipeline's files may name its own catalog, and are not read yet: there is something to refresh after a run only.
    """
    own = config.catalog or noted_catalog(StorageLayout(config.storage))
    found = []
    for name in names:
        with suppress(DefinitionError):
            found.append(str(Identifier.parse(name, default_schema=DefaultSchema(config.schema, own))))
    return found


def _final_state(board: UpdateBoard, stop: threading.Event) -> UpdateState:
    if board.errors:
        return UpdateState.FAILED
    return UpdateState.CANCELED if stop.is_set() else UpdateState.COMPLETED
