"""What is checked before a script's query starts: a rule a file.

A rule gets the query as the script wrote it, and as the rules before it have changed it. It returns the query,
changed or not, reports a notice, or raises what keeps the query from starting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.runtime.script.rules.aggregation_without_watermark import aggregation_without_watermark
from penstock.runtime.script.rules.complete_mode import complete_mode
from penstock.runtime.script.rules.file_sink_in_use import file_sink_in_use
from penstock.runtime.script.rules.foreach_batch_repeats import foreach_batch_repeats
from penstock.runtime.script.rules.join_watermark_on_one_side import join_watermark_on_one_side
from penstock.runtime.script.rules.join_without_time_bound import join_without_time_bound
from penstock.runtime.script.rules.lost_checkpoint import lost_checkpoint
from penstock.runtime.script.rules.missing_checkpoint import missing_checkpoint
from penstock.runtime.script.rules.once_trigger import once_trigger
from penstock.runtime.script.rules.partition_by_field import partition_by_field
from penstock.runtime.script.rules.session_windows import session_windows
from penstock.runtime.script.rules.shared_checkpoint import shared_checkpoint
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.rules.state_settings_kept import state_settings_kept
from penstock.runtime.script.rules.trigger_without_batches import trigger_without_batches
from penstock.runtime.script.rules.update_into_delta import update_into_delta
from penstock.runtime.script.rules.watermark_without_delay import watermark_without_delay
from penstock.runtime.script.stream_write import StreamWrite

Rule = Callable[[StreamWrite, Starting], StreamWrite]

RULES: Final[tuple[Rule, ...]] = (
    missing_checkpoint,
    shared_checkpoint,
    once_trigger,
    trigger_without_batches,
    session_windows,
    aggregation_without_watermark,
    complete_mode,
    join_without_time_bound,
    join_watermark_on_one_side,
    watermark_without_delay,
    state_settings_kept,
    partition_by_field,
    lost_checkpoint,
    file_sink_in_use,
    foreach_batch_repeats,
    update_into_delta,
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


__all__ = ["RULES", "Rule", "Starting", "checked"]
