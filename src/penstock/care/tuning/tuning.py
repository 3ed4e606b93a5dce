"""What `penstock tune` says of a pipeline: one line for each setting, or for each flow that has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from penstock.care.doctor.facts import StorageFacts, read_facts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.tuning import executors, limits, memory, partitions
from penstock.care.tuning.advice import Advice, Adviser, not_applicable, too_little
from penstock.care.tuning.file_counts import read_file_counts
from penstock.care.tuning.load import load_of
from penstock.care.tuning.settings import SETTINGS
from penstock.events.codec import format_timestamp

_ADVISERS: Final[tuple[Adviser, ...]] = (
    partitions.shuffle_partitions,
    partitions.min_partitions,
    limits.max_offsets,
    limits.max_files,
    memory.driver_memory,
    memory.executor_memory,
    memory.memory_overhead,
    executors.dynamic_allocation,
    executors.task_failures,
    executors.decommissioning,
)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The advice, in the order of `SETTINGS`, and when it was computed."""

    at: datetime
    settings: tuple[Advice, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns what `penstock tune --json` prints."""
        return {"at": format_timestamp(self.at), "settings": [each.to_json() for each in self.settings]}


def tune(storage_uri: str, settings: SettingsFacts | None) -> Tuning:
    """Reads a storage and returns the advice; changes nothing, starts no JVM.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    return tuning_of(read_facts(storage_uri, settings))


def tuning_of(facts: StorageFacts) -> Tuning:
    """Returns the advice by what was read already, and the logs of the checkpoints that count files."""
    return Tuning(facts.now, advise(facts, read_file_counts(facts)))


def advise(facts: StorageFacts, files: Mapping[str, tuple[int, ...]]) -> tuple[Advice, ...]:
    """Returns the advice; `files` are the counts of `read_file_counts`."""
    if facts.settings is None:
        reason = "Only the storage is known here, not the pipeline file."
        return tuple(not_applicable(name, reason) for name in SETTINGS)
    if not facts.history.updates:
        return tuple(too_little(name, "No update has run yet.") for name in SETTINGS)
    load = load_of(facts, facts.settings, files)
    return tuple(advice for adviser in _ADVISERS for advice in adviser(load))
