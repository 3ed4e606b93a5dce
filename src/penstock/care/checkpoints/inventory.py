"""Finds the checkpoints of a storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.care.checkpoints.target import Target
from penstock.errors import ConfigError, PenstockError, StateError, did_you_mean
from penstock.events import Event
from penstock.events.codec import format_timestamp
from penstock.events.flows.records import FlowRecord, FlowRecords
from penstock.graph.flows.flow_names import flows_called
from penstock.graph.identifier import Identifier
from penstock.observe.log.followed_log import Definitions
from penstock.observe.stored.tables import list_tables
from penstock.storage import Storage, StorageLayout
from penstock.storage.checkpoint.folder import CheckpointFolder, numbers_in
from penstock.storage.layout import dataset_name, decode_part

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """One generation of a flow's checkpoint.

    `in_use`: whether the next run goes on with it, `declared` whether the newest update knew the flow.
    """

    dataset: Identifier
    flow: str
    generation: int
    folder: CheckpointFolder
    in_use: bool
    declared: bool

    @property
    def name(self) -> str:
        """The flow's name for a command: `schema.dataset/flow`, short when the flow is called like its dataset."""
        return flow_label(self.dataset, self.flow)

    def refusal(self, condition: str, **facts: object) -> StateError:
        """Returns an error about this checkpoint; `flow` and `name`, its table, are among its facts."""
        return flow_refusal(self, condition, **facts)

    def to_json(self) -> dict[str, Any]:
        """Returns what `penstock checkpoint ls --json` prints of it."""
        changed = self.folder.changed
        return {
            "dataset": str(self.dataset),
            "flow": self.flow,
            "generation": self.generation,
            "in_use": self.in_use,
            "declared": self.declared,
            "last_batch": self.folder.committed,
            "in_flight_batch": self.folder.in_flight,
            "bytes": self.folder.size,
            "changed": None if changed is None else format_timestamp(datetime.fromtimestamp(changed, UTC)),
            "path": self.folder.uri,
        }


def flow_refusal(flow: StoredCheckpoint | FlowRecord, condition: str, **facts: object) -> StateError:
    """Returns an error about a flow; `flow` and `name`, its table, are among its facts."""
    details: dict[str, Any] = {"flow": flow_label(flow.dataset, flow.flow), "name": flow.dataset, **facts}
    return StateError(condition, dataset=str(flow.dataset), **details)


def flow_label(dataset: Identifier, flow: str) -> str:
    """Returns what people and commands call a flow."""
    return str(dataset) if flow.casefold() == dataset.name.casefold() else f"{dataset}/{flow}"


class Inventory:
    """The checkpoints of a storage beside what its event log and its tables say; everything is read once."""

    def __init__(self, storage_uri: str, events: Iterable[Event] = ()) -> None:
        self.layout = StorageLayout(storage_uri)
        self.storage = Storage(storage_uri)
        self.records, definitions = FlowRecords(), Definitions()
        for event in events:
            self.records.apply(event)
            definitions.apply(event)
        self.tables = list_tables(storage_uri, definitions.events)
        self._tables = {table.identifier: table.uri for table in self.tables}
        self._targets: dict[Identifier, Target | StateError | None] = {}

    @cached_property
    def checkpoints(self) -> tuple[StoredCheckpoint, ...]:
        """All checkpoints, by dataset, flow and generation."""
        found: list[StoredCheckpoint] = []
        for dataset, flows in self._folders().items():
            known = {flow: numbers_in(self.storage, self.layout.checkpoints(dataset, flow)) for flow in flows}
            current = self._current(dataset, [number for numbers in known.values() for number in numbers])
            for flow, numbers in known.items():
                record = self.records.of(dataset, flow)
                for number in numbers:
                    folder = CheckpointFolder.open(self.layout.checkpoint(dataset, flow, number))
                    found.append(
                        StoredCheckpoint(
                            record.dataset, record.flow, number, folder, number == current, record.declared
                        )
                    )
        return tuple(sorted(found, key=lambda each: (each.dataset, each.flow.casefold(), each.generation)))

    def select(self, name: str, *, default_schema: str) -> tuple[StoredCheckpoint, ...]:
        """Returns the checkpoints of a flow: `flow`, `dataset`, `schema.dataset` or `dataset/flow`, in any case.

        Raises:
            ConfigError: CHECKPOINT_NOT_FOUND, with the names that are close.
        """
        chosen, _ = self.narrow([name], default_schema=default_schema, recorded=False)
        return chosen

    def in_use(self, name: str, *, default_schema: str) -> list[StoredCheckpoint]:
        """Returns those checkpoints of a flow that the next run goes on with, at least one; see `select`.

        Raises:
            ConfigError: CHECKPOINT_NOT_FOUND.
        """
        found = [each for each in self.select(name, default_schema=default_schema) if each.in_use]
        if not found:
            raise ConfigError("CHECKPOINT_NOT_FOUND", name=name, storage=self.storage.uri, hint="None is in use.")
        return found

    def flow_into(self, table: str, flow: str | None, *, default_schema: str) -> StoredCheckpoint:
        """Returns the checkpoint in use of the flow into a table; `flow` names one of several.

        Raises:
            ConfigError: CHECKPOINT_NOT_FOUND; FLOW_NOT_CHOSEN.
        """
        name = table if flow is None else f"{table}/{flow}"
        found = self.in_use(name, default_schema=default_schema)
        if len(found) > 1:
            flows = ", ".join(each.flow for each in found)
            raise ConfigError("FLOW_NOT_CHOSEN", name=table, flows=flows, first=found[0].flow)
        return found[0]

    def narrow(
        self, names: Iterable[str], *, default_schema: str, recorded: bool = True
    ) -> tuple[tuple[StoredCheckpoint, ...], list[FlowRecord]]:
        """Returns the checkpoints of some flows, and what the log knows of these; see `select` for names.

        With `recorded`, it is enough that the log knows a flow: its checkpoint may be lost.

        Raises:
            ConfigError: CHECKPOINT_NOT_FOUND.
        """
        chosen: dict[str, StoredCheckpoint] = {}
        flows: list[FlowRecord] = []
        there = {(each.dataset, each.flow) for each in (*self.checkpoints, *self.records)}
        for name in names:
            called = flows_called(name, there, default_schema=default_schema)
            found = [each for each in self.checkpoints if (each.dataset, each.flow) in called]
            known = [each for each in self.records if (each.dataset, each.flow) in called]
            if not found and not (recorded and known):
                raise self.not_found(name)
            chosen |= {each.folder.uri: each for each in found}
            flows += [each for each in known if each not in flows]
        return tuple(chosen.values()), flows

    def not_found(self, name: str) -> ConfigError:
        """Returns CHECKPOINT_NOT_FOUND, with the names that are close to `name`."""
        names = list(dict.fromkeys(each.name for each in self.checkpoints))
        hint = did_you_mean(name, [each.flow for each in self.checkpoints]) or did_you_mean(name, names)
        if not hint:
            hint = "There are: " + ", ".join(names[:20]) + "." if names else "It holds no checkpoint yet."
        return ConfigError("CHECKPOINT_NOT_FOUND", name=name, storage=self.storage.uri, hint=hint)

    def target(self, dataset: Identifier) -> Target | None:
        """Returns the table that the dataset's flows write; None for a sink, and when there is none.

        Raises:
            StateError: TABLE_NOT_READABLE.
        """
        if dataset not in self._targets:
            try:
                uri = self._tables.get(dataset)
                self._targets[dataset] = None if uri is None else Target.open(str(dataset), uri)
            except StateError as error:
                self._targets[dataset] = error
        found = self._targets[dataset]
        if isinstance(found, StateError):
            raise found
        return found

    def opened(self, dataset: Identifier) -> DeltaTable | None:
        """Returns the table that `target` has opened; None when it was not asked for, or could not be opened."""
        found = self._targets.get(dataset)
        return found.table if isinstance(found, Target) else None

    def record_of(self, checkpoint: StoredCheckpoint) -> FlowRecord:
        """Returns what the event log says about the checkpoint's flow."""
        return self.records.of(checkpoint.dataset, checkpoint.flow)

    def _folders(self) -> dict[Identifier, list[str]]:
        root = f"{self.layout.uri}/checkpoints"
        found: dict[Identifier, list[str]] = {}
        for schema in self.storage.list(root):
            if not schema.is_directory:
                continue
            for dataset in self.storage.list(f"{root}/{schema.name}"):
                identifier = Identifier(*dataset_name(schema.name, dataset.name))
                flows = self.storage.list(f"{root}/{schema.name}/{dataset.name}") if dataset.is_directory else []
                found[identifier] = [decode_part(flow.name) for flow in flows if flow.is_directory]
        return found

    def _current(self, dataset: Identifier, generations: list[int]) -> int | None:
        """The generation that the table names; a sink goes on with its newest one, a lost table with none."""
        try:
            target = self.target(dataset)
        except PenstockError:
            return max(generations, default=None)
        if target is not None:
            return target.generation
        return max(generations, default=None) if dataset in self.records.sinks else None
