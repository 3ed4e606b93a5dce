"""Chooses how a streaming flow writes, by what the flow is and what its target asks for."""

from __future__ import annotations

from penstock.graph.resolved import FlowType
from penstock.plan.stages import RunStreamingFlow
from penstock.spark.writes import DeltaWriter, StreamWriter


def stream_writer(stage: RunStreamingFlow) -> StreamWriter:
    """Returns the writer of a streaming flow's batches; called for each start of its query."""
    return DeltaWriter(stage.path, complete=stage.flow.type is FlowType.COMPLETE)
