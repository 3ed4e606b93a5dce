"""Whether a streaming flow can go on with its checkpoint, and what to say when it cannot."""

from __future__ import annotations

from penstock.errors import StateError
from penstock.graph.resolved import ResolvedFlow
from penstock.plan.stages import flow_label
from penstock.plan.state import StateSnapshot
from penstock.plan.stream_changes import StreamChanges, compare_streams


def checkpoint_changes(flow: ResolvedFlow, state: StateSnapshot, *, reset: bool) -> StreamChanges:
    """Compares a streaming flow with its checkpoint; `reset` says that the flow gets a new one."""
    assert flow.stream is not None, "streaming flows are analysed with their definition"
    checkpoint = (flow.flow.target, flow.flow.name)
    started = checkpoint in state.streams and not reset
    return compare_streams(state.streams.get(checkpoint), flow.stream, started=started)


def checkpoint_refusal(flow: ResolvedFlow, changes: StreamChanges, *, allowed: bool, command: str) -> StateError:
    """Returns the error about a flow that cannot go on; `command` computes its table again, if that is `allowed`."""
    return StateError(
        "CHECKPOINT_NOT_COMPATIBLE" if allowed else "CHECKPOINT_CHANGE_FORBIDDEN",
        location=flow.flow.location,
        dataset=str(flow.flow.target),
        flow=flow.flow.name,
        name=flow_label(flow),
        reasons="; ".join(changes.reasons),
        command=command,
    )
