"""A flow that has filled its target has a checkpoint: without one it would read everything again."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.checkpoints.inventory import Inventory, flow_label
from penstock.errors import StateError
from penstock.events.flow_records import FlowRecord


def check(inventory: Inventory, record: FlowRecord) -> Iterator[StateError]:
    """Yields CHECKPOINT_LOST; that the flow ran is known from the event log."""
    if not (record.declared and record.query and record.ran):
        return
    try:
        target = inventory.target(record.dataset)
    except StateError:
        return  # the rule about targets says so where there is a checkpoint
    if target is None and record.dataset not in inventory.records.sinks:
        return  # the table is gone as well: the next run creates both
    if target is not None and not target.holds_rows:
        return
    generations = [
        each
        for each in inventory.checkpoints
        if each.dataset == record.dataset and each.flow.casefold() == record.flow.casefold() and each.folder.is_begun
    ]
    if not any(each.in_use for each in generations):
        place = inventory.layout.checkpoints(record.dataset, record.flow)
        lost = f"{place}/{target.generation}" if target is not None else place
        yield StateError(
            "CHECKPOINT_LOST",
            dataset=str(record.dataset),
            flow=flow_label(record.dataset, record.flow),
            name=record.dataset,
            path=lost,
        )
