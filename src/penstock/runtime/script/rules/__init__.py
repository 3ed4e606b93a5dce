"""What is checked before a script's query starts: a function a rule, by subject.

A rule gets the query as the script wrote it, and as the rules before it have changed it. It returns the query,
changed or not, reports a notice, or raises what keeps the query from starting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.runtime.script.rules import checkpoints, state, writes
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite

Rule = Callable[[StreamWrite, Starting], StreamWrite]

RULES: Final[tuple[Rule, ...]] = (
    checkpoints.missing_checkpoint,
    checkpoints.shared_checkpoint,
    writes.once_trigger,
    writes.trigger_without_batches,
    writes.session_windows,
    state.aggregation_without_watermark,
    state.complete_mode,
    state.join_without_time_bound,
    state.join_watermark_on_one_side,
    state.watermark_without_delay,
    checkpoints.state_settings_kept,
    writes.partition_by_field,
    checkpoints.lost_checkpoint,
    writes.file_sink_in_use,
    writes.foreach_batch_repeats,
    writes.update_into_delta,
)
"""In the order in which they are applied: each sees what those before it have changed."""


def checked(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Returns the write after all rules.

    Raises:
        DefinitionError, StateError: what keeps it from starting.
    """
    for rule in RULES:
        write = rule(write, starting)
    return write
