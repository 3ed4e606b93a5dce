"""A watermark without delay takes every row that is out of order across batches for late."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.graph.stream_definition import NO_DELAY


def watermark_without_delay(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Warns of it where an operator drops late rows: Spark takes it, and it fits only rows that come in order."""
    for flow in graph.flows:
        if flow.stateful and (column := _column(flow)) is not None:
            yield DefinitionError(
                "WATERMARK_WITHOUT_DELAY",
                location=flow.declaration.location,
                dataset=str(flow.declaration.target),
                flow=flow.declaration.name,
                column=column,
            )


def _column(flow: ResolvedFlow) -> str | None:
    """The column of such a watermark: of the outermost by its name in the query, of others as their source has it."""
    if flow.watermark is not None and flow.watermark[1] == NO_DELAY:
        return flow.watermark[0].replace("`", "").rpartition(".")[2]
    marks = flow.stream.watermarks if flow.stream is not None else {}
    return next((column for column, delay in marks.items() if delay == NO_DELAY), None)
