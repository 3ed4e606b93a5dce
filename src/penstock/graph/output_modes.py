"""What a pipeline declares about the output mode of a flow: by the flow itself, or by its table."""

from __future__ import annotations

from penstock.graph.elements import Dataset, OutputMode, Sink, Table, UnresolvedFlow


def declared_mode(flow: UnresolvedFlow, target: Dataset | Sink | None) -> OutputMode | None:
    """Returns the output mode that is declared, None when the query decides."""
    if flow.updates:
        return OutputMode.UPDATE
    return target.output_mode if isinstance(target, Table) else None


def declared_keys(flow: UnresolvedFlow, target: Dataset | Sink | None) -> tuple[str, ...]:
    """Returns the columns by which the rows of a table are to be found, empty when the query decides."""
    return flow.update_keys or (target.keys if isinstance(target, Table) else ())
