"""A flow that runs one time has no trigger."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph

_TRIGGER_KEYS = ("pipelines.trigger", "pipelines.trigger.interval")


def once_flow_trigger(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports trigger settings on `once` flows, which could only be ignored.

    That a `once` flow must be a batch query is checked by analysis.
    """
    for flow in graph.flows:
        if not flow.once:
            continue
        for key in flow.spark_conf:
            if key in _TRIGGER_KEYS:
                yield DefinitionError(
                    "ONCE_FLOW_WITH_TRIGGER",
                    location=flow.location,
                    dataset=str(flow.target),
                    flow=flow.name,
                    key=key,
                )
