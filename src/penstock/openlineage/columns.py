"""The facet that says of each column of an output which columns of the inputs it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openlineage.client.facet_v2 import column_lineage_dataset as facet

from penstock.graph.column_lineage import ColumnLineage, InputColumn
from penstock.openlineage.names import DatasetName


def column_lineage_facet(
    lineage: ColumnLineage, name: Callable[[str], DatasetName], *, producer: str
) -> facet.ColumnLineageDatasetFacet | None:
    """Returns the facet; None when nothing is known. A column that could not be followed at all is left out.

    `name` gives what OpenLineage calls a dataset of `InputColumn.dataset`.
    """
    fields = {
        column.name: facet.Fields(_inputs(column.inputs, name))
        for column in lineage.columns
        if column.resolved or column.inputs
    }
    if not fields:
        return None
    return facet.ColumnLineageDatasetFacet(fields, _inputs(lineage.rows, name), producer=producer)


def _inputs(columns: Sequence[InputColumn], name: Callable[[str], DatasetName]) -> list[facet.InputField]:
    return [
        facet.InputField(
            *name(each.dataset),
            field=each.column,
            transformations=[
                facet.Transformation("DIRECT" if kind.direct else "INDIRECT", kind.value) for kind in each.how
            ],
        )
        for each in columns
    ]
