"""What the rules judge, read from the storage at one moment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata

from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.state_partitions import partitions_of
from penstock.care.checkpoints.verify import Verification, verify
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.doctor.tables import TableFacts, read_table_facts
from penstock.events.flows.facts import FlowFacts, details_of
from penstock.events.log.reader import read_events
from penstock.events.types import Event, EventType
from penstock.observe.flows.activity import ActivityProjection, FlowActivity
from penstock.observe.flows.history import FlowHistory, PipelineHistory, PipelineHistoryProjection, project_history
from penstock.observe.status.pipeline_status import DatasetStatus
from penstock.observe.status.undeclared import UndeclaredDatasets
from penstock.observe.stored.tables import StoredTable
from penstock.storage import Storage, StorageLayout
from penstock.storage.checkpoint.state import state_partitions
from penstock.storage.local_disk import local_path
from penstock.storage.lock import LockHolder, read_holder
from penstock.storage.maintenance_records import MaintenanceRecord, read_maintenance
from penstock.storage.process_resources import DiskSpace, ProcessResources, disk_space, resources_of_run


@dataclass(frozen=True, slots=True)
class Writer:
    """A version of Penstock that has run on the storage, and when it did first."""

    version: str
    since: datetime


@dataclass(frozen=True, slots=True)
class StorageFacts:
    """A storage as it was found.

    Attributes:
        storage: its URI.
        verification: what `penstock checkpoint verify` says.
        tables: those that are stored, whether declared or not.
        undeclared: full names of stored tables that the pipeline no longer declares.
        unreadable: file and number of each line of the event log that this version cannot read, in their order.
        holder: who holds the lock, alive or not.
        processes: those of the run that goes on, on this machine.
        disk: the local disk under it.
        datasets: the status of each dataset of the newest update.
        writers: the versions that have written it, in the order of their first run.
        own_version: the one that looks.
        table_facts: what the logs of the tables say.
        history: how the pipeline is declared and has run.
        maintenance: when runs maintained tables, by full name in lower case.
        mode: the permissions of a local storage's folder; None of another, and before it is there.
        settings: the pipeline's settings; None where only the storage is known.
        now: when it was looked at.
        jars_checked: whether the jars of the cache were looked at as well.
        activity: what each flow has done over all of the log, for advice on settings.
        state_partitions: into how many partitions the state of a flow is divided, by its name; Spark 4.2 has them in
            the state's own files, and no longer among the settings of a plan.
    """

    storage: str
    verification: Verification
    tables: tuple[StoredTable, ...]
    undeclared: tuple[str, ...]
    unreadable: tuple[tuple[str, int], ...]
    holder: LockHolder | None
    processes: tuple[ProcessResources, ...]
    disk: DiskSpace | None
    datasets: tuple[DatasetStatus, ...]
    writers: tuple[Writer, ...]
    own_version: str
    table_facts: tuple[TableFacts, ...] = ()
    history: PipelineHistory = field(default_factory=lambda: project_history(()))
    maintenance: Mapping[str, MaintenanceRecord] = field(default_factory=dict)
    mode: int | None = None
    settings: SettingsFacts | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    jars_checked: bool = False
    activity: tuple[FlowActivity, ...] = ()
    state_partitions: Mapping[str, int] = field(default_factory=dict)

    def partitions_of(self, flow: FlowHistory) -> int | None:
        """Returns into how many partitions a flow's state is divided; None of one without state, or not recorded."""
        return partitions_of(flow.definition, self.state_partitions.get(flow.name))

    @property
    def is_local(self) -> bool:
        """Whether the storage is on a disk of this machine."""
        return Storage(self.storage).is_local


def read_facts(storage_uri: str, settings: SettingsFacts | None = None) -> StorageFacts:
    """Reads everything that the rules and checks need; the event log once.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    storage, unreadable = Storage(storage_uri), dict[tuple[str, int], None]()
    undeclared, writers, projection = UndeclaredDatasets(), dict[str, Writer](), PipelineHistoryProjection()
    flow_facts, activity = FlowFacts(), ActivityProjection()

    def passing() -> Iterator[Event]:
        for event in read_events(storage_uri, unreadable=lambda file, line: unreadable.setdefault((file, line))):
            undeclared.apply(event)
            fact = flow_facts.apply(event)
            projection.take(event, fact)
            activity.take(event, fact)
            if event.event_type is EventType.CREATE_UPDATE:
                version = str(details_of(event).get("version"))
                writers.setdefault(version, Writer(version, event.timestamp))
            yield event  # one at a time: a long log does not fit into memory

    inventory, holder = Inventory(storage_uri, passing()), read_holder(storage)
    history = projection.history()
    verification = verify(inventory, inventory.checkpoints, list(inventory.records))  # opens the targets of flows
    return StorageFacts(
        storage=storage.uri,
        verification=verification,
        tables=inventory.tables,
        undeclared=undeclared.names,
        unreadable=tuple(unreadable),
        holder=holder,
        processes=resources_of_run(holder),
        disk=disk_space(storage),
        datasets=history.status.datasets,
        writers=tuple(writers.values()),
        own_version=metadata.version("penstock"),
        table_facts=tuple(read_table_facts(table, inventory.opened(table.identifier)) for table in inventory.tables),
        history=history,
        maintenance=read_maintenance(StorageLayout(storage.uri)),
        mode=_mode(storage),
        settings=settings,
        activity=activity.flows(),
        state_partitions=_state_partitions(verification),
    )


def _state_partitions(verification: Verification) -> dict[str, int]:
    stateful = [each for each in verification.checked if any(each.folder.below("state"))]
    found = {each.name: state_partitions(Storage(each.folder.uri)) for each in stateful}
    return {name: partitions for name, partitions in found.items() if partitions is not None}


def _mode(storage: Storage) -> int | None:
    try:
        return os.stat(local_path(storage.uri)).st_mode if storage.is_local else None
    except OSError:
        return None
