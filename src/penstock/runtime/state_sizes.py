"""How much state the flows keep, as the end of the event log tells."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.events import BatchProgress, Event, batch_progress_of
from penstock.plan.state import StateSize

Sizes = dict[tuple[str, str], StateSize]
"""By the full name of a flow's target, and the flow's name, both in lower case."""


def state_sizes(events: Iterable[Event]) -> Sizes:
    """Returns the size of each flow whose newest batch had state; `events` in their order."""
    batches: dict[tuple[str, str], list[BatchProgress]] = {}
    for event in events:
        progress, origin = batch_progress_of(event), event.origin
        if progress is None or progress.state_rows is None or not origin.dataset_name or not origin.flow_name:
            continue
        known = batches.setdefault((origin.dataset_name.casefold(), origin.flow_name.casefold()), [])
        if known and progress.batch_id <= known[-1].batch_id:
            known.clear()  # it began anew, or did a batch again
        known.append(progress)
    return {key: _size(known) for key, known in batches.items()}


def _size(batches: list[BatchProgress]) -> StateSize:
    first, last = batches[0], batches[-1]
    rows, steps = last.state_rows or 0, len(batches) - 1
    growth = (rows - (first.state_rows or 0)) / steps if steps else None
    return StateSize(rows, last.state_bytes or 0, steps or 1, growth)
