"""Looks for damage in checkpoints before Spark meets it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.care.checkpoints import rules
from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.errors import PenstockError
from penstock.events.flows.records import FlowRecord

_RULES: tuple[Callable[[StoredCheckpoint], Iterator[PenstockError]], ...] = (
    rules.finished_rewind,
    rules.whole_files,
    rules.whole_snapshots,
    rules.complete_batches,
    rules.complete_sources,
    rules.complete_state,
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
        findings.extend(rules.target_agrees(inventory, checkpoint))
        findings.extend(rules.own_query_id(checkpoint, query_ids))
    for record in flows:
        findings.extend(rules.present_checkpoint(inventory, record))
    return Verification(looked_at, tuple(findings))


def _found(
    rule: Callable[[StoredCheckpoint], Iterator[PenstockError]], checkpoint: StoredCheckpoint
) -> Iterator[PenstockError]:
    """A file that the disk does not give is a finding as well, not the end of the search."""
    try:
        yield from rule(checkpoint)
    except PenstockError as error:
        yield error
