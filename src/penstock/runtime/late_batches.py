"""Which finished batches of a flow may have late rows that nobody has kept yet, as far as the event log tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.events import Event, FlowStatus, batch_progress_of, flow_status_of, late_rows_of_event
from penstock.events.flow_facts import flow_key
from penstock.events.progress import checkpointed_batch_of

_UNTOLD = 20
"""More batches than Spark finishes before a killed process is gone that has not told of the first one yet."""
_LIVED_ON = {FlowStatus.COMPLETED, FlowStatus.STOPPED, FlowStatus.RETRYING}


def open_batches(
    events: Sequence[Event], flow: tuple[str, str], query_id: str, finished: Iterable[int]
) -> dict[int, int | None]:
    """Returns the batches to look at, the oldest first, each with the late rows that Spark counted, None if unknown.

    `events` are the newest of the log, `flow` the full name of its target and its name, `finished` the batches of the
    checkpoint that are done. Late rows are kept in the order of batches, each batch with an event, so nothing before
    the newest such event is open. A process that was killed while the flow was running may not have told of its last
    batches, nor has one that outlived its JVM, where the flow has failed: these are open too.
    """
    counted: dict[int, int] = {}
    settled, newest, killed = -1, None, False
    for event in events:
        if flow_key(str(event.origin.dataset_name), str(event.origin.flow_name)) != flow_key(*flow):
            continue
        late = late_rows_of_event(event)
        if late is not None and late.query_id == query_id:
            settled = max(settled, late.batch_id)
        told = checkpointed_batch_of(event)
        progress = batch_progress_of(event)
        if progress is not None and told is not None and told.query_id == query_id:
            newest = progress.batch_id
            counted[progress.batch_id] = progress.late_rows or 0
        elif progress is None and (status := flow_status_of(event)) is not None:
            killed = status is FlowStatus.RUNNING or (killed and status not in _LIVED_ON)
    known = sorted(finished)
    silent = [] if not killed else [batch for batch in known if newest is None or batch > newest]
    if newest is None:
        silent = silent[-_UNTOLD:]  # earlier ones have their events further back in the log
    found: dict[int, int | None] = {batch: late for batch, late in counted.items() if late and batch in known}
    found |= dict.fromkeys(silent)
    return {batch: found[batch] for batch in sorted(found) if batch > settled}
