"""OPTIMIZE and VACUUM when a person asks for them, while no update runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import ExternalError, StateError, first_line
from penstock.events import EventLog, EventType, MaintenanceProgress, builders, new_update_id
from penstock.graph.identifier import Identifier
from penstock.plan.maintenance import maintenance_of
from penstock.plan.stages import MaintainTable
from penstock.runtime.maintenance import Maintenance, spare_files
from penstock.runtime.reporter import Reporter
from penstock.runtime.state import table_state
from penstock.runtime.workspace import Progress, Workspace
from penstock.spark.maintenance import MaintenanceSession
from penstock.storage import LockOwner, StorageLayout, StorageLock

_T = TypeVar("_T")
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
        return maintenance.optimize(session, stage, MaintenanceProgress(), thorough=True)

    return _each(config, tables, "OPTIMIZE", work, progress=progress, spark=spark)


def vacuum_tables(
    config: PipelineConfig, tables: Mapping[Identifier, str], *, progress: Progress, spark: SparkSession | None = None
) -> Done:
    """Deletes files of the tables that neither a version within their retention nor a lagging flow needs.

    Raises: as `optimize_tables`.
    """

    def work(maintenance: Maintenance, session: MaintenanceSession, stage: MaintainTable) -> MaintenanceProgress:
        return maintenance.vacuum(session, stage, MaintenanceProgress())

    return _each(config, tables, "VACUUM", work, progress=progress, spark=spark)


def spare_files_of(tables: Mapping[Identifier, str]) -> dict[Identifier, int]:
    """Returns by how many files `optimize_tables` would make each table smaller; no Spark.

    Raises:
        StateError: TABLE_NOT_READABLE.
    """
    return {identifier: _readable(identifier, spare_files, path) for identifier, path in tables.items()}


def deletable_files(
    config: PipelineConfig, tables: Mapping[Identifier, str], *, progress: Progress, spark: SparkSession | None = None
) -> dict[Identifier, tuple[str, ...] | None]:
    """Returns the files that `vacuum_tables` would delete, up to a thousand a table; None where it deletes nothing.

    Raises: as `optimize_tables`, but does not mind a running update.
    """
    workspace = Workspace.open(config, progress, spark=spark, short=True)
    maintenance = Maintenance(workspace.spark, workspace.layout, lambda *_: None)
    session = MaintenanceSession(workspace.spark)
    found: dict[Identifier, tuple[str, ...] | None] = {}
    for identifier, path in tables.items():
        stage = _stage(identifier, path)
        with _failing(identifier):
            needed = maintenance.retention(stage)
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
        StorageLock(config.storage, LockOwner.current()),
        EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id()) as log,
    ):
        stages = [_stage(identifier, path) for identifier, path in tables.items()]
        workspace = Workspace.open(config, progress, spark=spark, short=True)
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
    state = _readable(identifier, lambda place: table_state(DeltaTable(place), place), path)
    return maintenance_of(identifier, state, explanation="")


def _readable(identifier: Identifier, read: Callable[[str], _T], path: str) -> _T:
    try:
        return read(path)
    except (DeltaError, OSError, ValueError) as error:
        name = str(identifier)
        raise StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=first_line(error)) from error


@contextmanager
def _failing(identifier: Identifier) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError, DeltaError, OSError) as error:
        name = str(identifier)
        raise ExternalError("MAINTENANCE_FAILED", dataset=name, name=name, reason=first_line(error)) from error
