"""OPTIMIZE and VACUUM when a person asks for them, while no update runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.events import EventLog, EventType, MaintenanceProgress, builders, new_update_id
from penstock.graph.identifier import Identifier
from penstock.plan.maintenance import maintenance_of
from penstock.plan.stages import MaintainTable
from penstock.runtime.maintenance.tables import FAILURES, Maintenance, maintenance_failed, spare_files
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress
from penstock.runtime.reporting.reporter import Reporter
from penstock.runtime.storage_state.state import open_table, table_state
from penstock.spark.delta.maintenance import MaintenanceSession
from penstock.storage import StorageLayout, lock_for_command
from penstock.storage.checkpoint.source_offsets import pending_versions

Done = dict[Identifier, MaintenanceProgress]


def optimize_tables(
    config: PipelineConfig, tables: Mapping[Identifier, str], *, progress: Progress, spark: SparkSession | None = None
) -> Done:
    """Puts the small files of the tables, given by name and place, together; returns what was done.

    Raises:
        StateError: STORAGE_LOCKED while a run works, TABLE_NOT_READABLE.
        ExternalError: MAINTENANCE_FAILED; tables before it are done.
    """

    def work(maintenance: Maintenance, session: MaintenanceSession, stage: MaintainTable) -> MaintenanceProgress:
        return maintenance.optimize(session, stage, thorough=True)

    return _each(config, tables, "OPTIMIZE", work, progress=progress, spark=spark)


def vacuum_tables(
    config: PipelineConfig, tables: Mapping[Identifier, str], *, progress: Progress, spark: SparkSession | None = None
) -> Done:
    """Deletes files of the tables that neither a version within their retention nor a lagging flow needs.

    Raises: as `optimize_tables`.
    """
    pending = cache(lambda: pending_versions(StorageLayout(config.storage)))

    def work(maintenance: Maintenance, session: MaintenanceSession, stage: MaintainTable) -> MaintenanceProgress:
        return maintenance.vacuum(session, stage, MaintenanceProgress(), pending())

    return _each(config, tables, "VACUUM", work, progress=progress, spark=spark)


def spare_files_of(tables: Mapping[Identifier, str]) -> dict[Identifier, int]:
    """Returns by how many files `optimize_tables` would make each table smaller; no Spark.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    return {identifier: spare_files(open_table(identifier, path)) for identifier, path in tables.items()}


def deletable_files(
    config: PipelineConfig, tables: Mapping[Identifier, str], *, progress: Progress, spark: SparkSession | None = None
) -> dict[Identifier, tuple[str, ...] | None]:
    """Returns the files that `vacuum_tables` would delete, up to a thousand a table; None where it deletes nothing.

    Raises: as `optimize_tables`, but does not mind a running update.
    """
    found: dict[Identifier, tuple[str, ...] | None] = {}
    with watched_workspace(config, progress, spark=spark) as workspace:
        maintenance = Maintenance(workspace.spark, workspace.layout, lambda *_: None)
        session, pending = MaintenanceSession(workspace.spark), pending_versions(workspace.layout)
        for identifier, path in tables.items():
            stage = _stage(identifier, path)
            with _failing(identifier):
                needed = maintenance.retention(stage, pending)
                found[identifier] = None if needed is None else session.deletable(path, needed)
    return found


def _each(
    config: PipelineConfig,
    tables: Mapping[Identifier, str],
    operation: str,
    work: Callable[[Maintenance, MaintenanceSession, MaintainTable], MaintenanceProgress],
    *,
    progress: Progress,
    spark: SparkSession | None,
) -> Done:
    done: Done = {}
    with (
        lock_for_command(config.storage),
        EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id()) as log,
    ):
        stages = [_stage(identifier, path) for identifier, path in tables.items()]
        with watched_workspace(config, progress, spark=spark) as workspace:
            reporter = Reporter(log, config.name, config.redact)
            maintenance = Maintenance(workspace.spark, StorageLayout(config.storage), reporter.maintenance)
            session = MaintenanceSession(workspace.spark)
            for stage in stages:
                progress(f"{operation} of {stage.dataset}")
                name = str(stage.dataset)
                log.append(
                    EventType.USER_ACTION, *builders.user_action(operation, arguments={"dataset": name}), dataset=name
                )
                with _failing(stage.dataset):
                    done[stage.dataset] = work(maintenance, session, stage)
                reporter.maintenance(stage.dataset, done[stage.dataset])
    return done


def _stage(identifier: Identifier, path: str) -> MaintainTable:
    return maintenance_of(identifier, table_state(open_table(identifier, path), path), explanation="")


@contextmanager
def _failing(identifier: Identifier) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise maintenance_failed(identifier, error) from error
