"""Whether a streaming flow may go on with its checkpoint: it fits the query, and nothing is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.errors import PenstockError, StateError
from penstock.events.flows.state_size import StateSize
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.plan.explain import flow_label
from penstock.plan.full_refresh import reset_allowed
from penstock.plan.state import CheckpointCheck, StateSnapshot
from penstock.plan.stream_changes import StreamChanges, Verdict, compare_streams
from penstock.storage.checkpoint.newest import Repair


@dataclass(frozen=True, slots=True)
class GuardedStream:
    """How a flow differs from its checkpoint, what is repaired in that before it starts, and why it must not.

    `size` is that of the state with which it goes on, if it is known.
    """

    changes: StreamChanges
    repairs: tuple[Repair, ...] = ()
    refusals: tuple[PenstockError, ...] = ()
    notices: tuple[PenstockError, ...] = ()
    size: StateSize | None = None

    def describe(self) -> str:
        """Returns what a plan adds about the checkpoint; nothing for a new one."""
        compared = "" if self.changes.verdict is Verdict.NEW else f"; checkpoint {self.changes.describe()}"
        compared += "" if self.size is None else f"; {self.size.describe()}"
        return compared + "".join(f"; repairs its checkpoint: {each.reason}" for each in self.repairs)


def guard_stream(
    graph: ResolvedGraph, state: StateSnapshot, flow: ResolvedFlow, *, reset: bool, way_out: Callable[[], str]
) -> GuardedStream:
    """Judges a streaming flow and the checkpoint with which it would go on; with `reset` it begins a new one.

    `way_out` gives the command that computes the flow's target again.
    """
    key = (flow.declaration.target, flow.declaration.name)
    assert flow.stream is not None, "streaming flows are analysed with their definition"
    check = CheckpointCheck() if reset else state.checks.get(key, CheckpointCheck())
    changes = compare_streams(state.streams.get(key), flow.stream, started=key in state.streams and not reset)
    if check.refusals:  # what the checkpoint of another flow differs in says nothing
        return GuardedStream(changes, refusals=check.refusals)
    if changes.verdict is Verdict.FULL_REFRESH:
        allowed = reset_allowed(graph, flow.declaration.target)
        different = StateError(
            "CHECKPOINT_NOT_COMPATIBLE" if allowed else "CHECKPOINT_CHANGE_FORBIDDEN",
            location=flow.declaration.location,
            dataset=str(flow.declaration.target),
            flow=flow.declaration.name,
            name=flow_label(flow),
            reasons="; ".join(changes.reasons),
            rows=f"{state.rows_read(*key):,}",
            command=way_out(),
        )
        return GuardedStream(changes, refusals=(different,))
    goes_on = flow.stateful and changes.verdict is not Verdict.NEW
    size = state.state_size(*key) if goes_on else None
    return GuardedStream(changes, check.repairs, notices=tuple(_fixed_settings(flow, changes, way_out)), size=size)


def _fixed_settings(flow: ResolvedFlow, changes: StreamChanges, way_out: Callable[[], str]) -> Iterator[PenstockError]:
    """Reports settings that have no effect on a state that has begun: Spark goes on with those of the checkpoint."""
    if changes.kept_settings:
        yield flow.declaration.error(
            "STATE_SETTING_KEPT", name=flow_label(flow), settings="; ".join(changes.kept_settings), command=way_out()
        )
