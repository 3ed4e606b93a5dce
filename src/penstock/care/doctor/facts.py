"""What the rules judge, read from the storage at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib import metadata

from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.verify import Verification, verify
from penstock.events.flows.facts import details_of
from penstock.events.log.reader import read_events
from penstock.events.types import EventType
from penstock.observe.status.pipeline_status import DatasetStatus, project_status
from penstock.observe.status.undeclared import UndeclaredDatasets
from penstock.observe.stored.tables import StoredTable
from penstock.storage import Storage
from penstock.storage.lock import LockHolder, read_holder
from penstock.storage.process_resources import DiskSpace, ProcessResources, disk_space, resources_of_run

_RELEVANT = tuple(each for each in EventType if each is not EventType.ACCOUNTING)


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


def read_facts(storage_uri: str) -> StorageFacts:
    """Reads everything that the rules need; the event log once.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    storage, unreadable = Storage(storage_uri), dict[tuple[str, int], None]()
    events = list(
        read_events(storage_uri, types=_RELEVANT, unreadable=lambda file, line: unreadable.setdefault((file, line)))
    )
    undeclared, writers = UndeclaredDatasets(), dict[str, Writer]()
    for event in events:
        undeclared.apply(event)
        if event.event_type is EventType.CREATE_UPDATE:
            version = str(details_of(event).get("version"))
            writers.setdefault(version, Writer(version, event.timestamp))
    inventory, holder = Inventory(storage_uri, events), read_holder(storage)
    return StorageFacts(
        storage=storage.uri,
        verification=verify(inventory, inventory.checkpoints, list(inventory.records)),
        tables=inventory.tables,
        undeclared=undeclared.names,
        unreadable=tuple(unreadable),
        holder=holder,
        processes=resources_of_run(holder),
        disk=disk_space(storage),
        datasets=project_status(events).datasets,
        writers=tuple(writers.values()),
        own_version=metadata.version("penstock"),
    )
