"""Removes a table that the pipeline no longer declares, with all that its flows noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from penstock.config import PipelineConfig
from penstock.errors import StateError
from penstock.events import EventLog, EventType, builders, new_update_id
from penstock.graph.companions.late_rows import LATE_ROWS, late_rows_path
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.companions.quarantining import has_quarantine, quarantining
from penstock.graph.elements import Dataset
from penstock.graph.identifier import Identifier
from penstock.plan.companion_tables import QUARANTINE
from penstock.plan.state import DATASET_TYPE
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import load_files
from penstock.storage import Storage, StorageLayout, lock_for_command
from penstock.storage.delta.table import is_delta_table, table_properties


def drop_dataset(
    config: PipelineConfig, identifier: Identifier, uri: str | None, *, progress: Callable[[str], None]
) -> tuple[str, ...]:
    """Deletes the table at `uri` with its quarantine, late rows, checkpoints and inferred schemas; returns the folders.

    The storage is locked meanwhile. The checkpoints go last: a process that dies in between leaves no
    table without checkpoints, whose rows a later run would take in twice, and no quarantine without
    its table, which would not be found. `penstock drop` can be repeated.

    Raises:
        StateError: STORAGE_LOCKED while a run works, DATASET_STILL_DECLARED.
        ConfigError, DefinitionError: the pipeline's files cannot be read, so that it is not known.
    """
    storage, layout = Storage(config.storage), StorageLayout(config.storage)
    with lock_for_command(config.storage):
        if identifier in _declared(config, progress):
            raise StateError("DATASET_STILL_DECLARED", dataset=str(identifier), name=identifier)
        folders = [folder for folder in layout.notes(identifier) if storage.exists(folder)]
        if uri is not None:
            folders = [*_beside(uri), uri, *folders]
        for folder in folders:
            place = Storage(folder)  # which may be in another store than the pipeline's
            place.delete("_delta_log")
            place.delete("")
        with EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id()) as log:
            action = builders.user_action("DROP", arguments={"dataset": str(identifier), "at": str(datetime.now(UTC))})
            log.append(EventType.USER_ACTION, *action, dataset=str(identifier))
    return tuple(folders)


def _declared(config: PipelineConfig, progress: Callable[[str], None]) -> frozenset[Identifier]:
    """The datasets of the pipeline's files, which mostly load without Spark."""
    registry = load_files(config, config.source_files(), configuration=config.configuration)
    graph = registry.graph()
    if not registry.incomplete:
        return _names(graph.datasets, quarantining(graph)) | graph.refused
    with watched_workspace(config, progress) as workspace:
        resolved = workspace.resolve(progress)
    datasets = [*resolved.tables.values(), *(view.view for view in resolved.views.values())]
    return _names(resolved.order, [dataset for dataset in datasets if has_quarantine(dataset)])


def _names(declared: Iterable[Identifier], with_quarantine: Iterable[Dataset]) -> frozenset[Identifier]:
    return frozenset(declared) | {quarantine_of(dataset.identifier) for dataset in with_quarantine}


def _beside(uri: str) -> list[str]:
    """The quarantine and the late rows of the table at `uri`; a table that only has such a name is another dataset."""
    kinds = {quarantine_path(uri): QUARANTINE, late_rows_path(uri): LATE_ROWS}
    tables = [path for path in kinds if is_delta_table(path)]
    return [path for path in tables if table_properties(path).get(DATASET_TYPE) == kinds[path]]
