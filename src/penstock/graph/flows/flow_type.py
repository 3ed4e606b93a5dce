"""The kinds of flows; apart from the graph, because whoever reads the event log needs only their names."""

from __future__ import annotations

from enum import Enum


class FlowType(Enum):
    """How a flow adds to its target; the names are those of the DLT event log."""

    APPEND = "append"
    COMPLETE = "complete"
    UPDATE = "update"
    APPEND_ONCE = "append_once"
    MATERIALIZED_VIEW = "materialized_view"
    VIEW = "view"
    CHANGE = "change"
    SNAPSHOT_CHANGE = "snapshot_change"

    @property
    def rewrites(self) -> bool:
        """Whether the flow changes or removes rows that are in its target already."""
        return self not in {FlowType.APPEND, FlowType.APPEND_ONCE, FlowType.VIEW}
