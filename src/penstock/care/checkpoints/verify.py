"""Looks for damage in checkpoints before Spark meets it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.care.checkpoints.rules import (
    batches,
    files,
    lost,
    rewinding,
    shared,
    snapshots,
    sources,
    state,
    target,
)
from penstock.errors import PenstockError
from penstock.events.flow_records import FlowRecord

_RULES: tuple[Callable[[StoredCheckpoint], Iterator[PenstockError]], ...] = (
    rewinding.check,
    files.check,
    snapshots.check,
    batches.check,
    sources.check,
    state.check,
)


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found: the checkpoints that were checked, and everything that is wrong with them."""

    checked: tuple[StoredCheckpoint, ...]
    findings: tuple[PenstockError, ...]


def verify(inventory: Inventory, chosen: Iterable[StoredCheckpoint], flows: Iterable[FlowRecord]) -> Verification:
    """Checks those of `chosen` that the next run goes on with, and that none of `flows` has lost its checkpoint.

    Reads only; says nothing about rows or state that it does not read. A file that is fine here can still be refused
    by Spark, and of a checkpoint on an object store, where Hadoop keeps no checksums, a changed digit is not noticed.
    """
    looked_at = tuple(each for each in chosen if each.in_use)
    everything = inventory.checkpoints if looked_at else ()
    query_ids = {each.folder.uri: each.folder.known_query_id() for each in everything}
    findings: list[PenstockError] = []
    for checkpoint in looked_at:
        for rule in _RULES:
            findings.extend(_found(rule, checkpoint))
        findings.extend(target.check(inventory, checkpoint))
        findings.extend(shared.check(checkpoint, query_ids))
    for record in flows:
        findings.extend(lost.check(inventory, record))
    return Verification(looked_at, tuple(findings))


def _found(
    rule: Callable[[StoredCheckpoint], Iterator[PenstockError]], checkpoint: StoredCheckpoint
) -> Iterator[PenstockError]:
    """A file that the disk does not give is a finding as well, not the end of the search."""
    try:
        yield from rule(checkpoint)
    except PenstockError as error:
        yield error
