"""`create_streaming_table`: a streaming table without a query of its own, filled by flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.declare.datasets.protection import masks_of, row_filter_of
from penstock.declare.declaration import Declaration, declaring
from penstock.declare.expectations import expectations_of
from penstock.declare.parameters import NAMES, output_mode_of, texts
from penstock.graph.elements import OnViolation, StreamingTable

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


def _create(  # noqa: PLR0917 - the order of the `dlt` API
    call: Declaration,
    /,
    name: str,
    comment: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    table_properties: Mapping[str, str] | None = None,
    partition_cols: Sequence[str] | None = None,
    path: str | None = None,
    schema: StructType | str | None = None,
    expect_all: Mapping[str, str | Column] | None = None,
    expect_all_or_drop: Mapping[str, str | Column] | None = None,
    expect_all_or_fail: Mapping[str, str | Column] | None = None,
    cluster_by: Sequence[str] | None = None,
    row_filter: str | None = None,
    private: bool = False,
    temporary: bool = False,
    cluster_by_auto: bool = False,
    format: str | None = None,
    expect_all_or_quarantine: Mapping[str, str | Column] | None = None,
    output_mode: str | None = None,
    keys: Sequence[str] | None = None,
) -> None:
    identifier = call.identifier(name)
    if identifier is None:
        return
    columns, masks = masks_of(call, schema)
    call.registry.add_dataset(
        StreamingTable(
            identifier=identifier,
            location=call.location,
            comment=comment,
            spark_conf=texts(spark_conf),
            expectations=(
                *expectations_of(call, expect_all, OnViolation.WARN),
                *expectations_of(call, expect_all_or_drop, OnViolation.DROP),
                *expectations_of(call, expect_all_or_fail, OnViolation.FAIL),
                *expectations_of(call, expect_all_or_quarantine, OnViolation.QUARANTINE),
            ),
            schema=columns,
            masks=masks,
            row_filter=row_filter_of(call, row_filter),
            table_properties=texts(table_properties),
            partition_columns=tuple(partition_cols or ()),
            cluster_by=tuple(cluster_by or ()),
            path=path,
            temporary=temporary or private,
            output_mode=output_mode_of(output_mode),
            keys=tuple(keys or ()),
        )
    )


_TYPES = {"keys": NAMES}

create_streaming_table = declaring(
    _create,
    name="create_streaming_table",
    types=_TYPES,
    doc="""Declares a streaming table that one or more `@append_flow(target=name)` fill.

    Args:
        name: 1 to 3 parts.
        comment: Shown by catalogs and by `penstock show`.
        spark_conf: Settings of every flow into the table; a flow's own settings win.
        table_properties: Delta table properties.
        partition_cols: Columns that partition the table; not together with `cluster_by`.
        path: Where the table is stored; default: `<storage>/tables/<schema>/<name>`.
        schema: A DDL str or StructType; default: the flows' schema.
        expect_all, expect_all_or_drop, expect_all_or_fail, expect_all_or_quarantine: Expectations on
            the rows of all flows.
        cluster_by: Columns of liquid clustering.
        temporary, private: Stored, but private to the pipeline.
        format: `delta`, the only format.
        row_filter: `ROW FILTER function ON (columns)`: the rows that readers outside of the pipeline get.
        output_mode: Of its flows: `append`, `complete` or `update`; default: `append` where a query can, else
            `complete`. `update` merges the rows that changed into the table, once a batch.
        keys: With `update`, the columns that identify a row; default: what the queries group by.
        cluster_by_auto: Refused, with the reason.
    """,
)
create_target_table = declaring(
    _create, name="create_target_table", types=_TYPES, doc="""An old name of `create_streaming_table`."""
)
create_streaming_live_table = declaring(
    _create, name="create_streaming_live_table", types=_TYPES, doc="""An old name of `create_streaming_table`."""
)
