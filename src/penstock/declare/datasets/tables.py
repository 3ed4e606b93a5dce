"""`table` and `materialized_view`: a stored dataset together with its query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

from penstock.declare.dataset_function import declare_dataset
from penstock.declare.datasets.protection import masks_of, row_filter_of
from penstock.declare.declaration import Declaration, declaring
from penstock.declare.parameters import NAMES, output_mode_of, refresh_policy_of, texts
from penstock.graph.elements import (
    Expectation,
    LikelyStreamingTable,
    MaterializedView,
    Table,
    UndecidedTable,
    UnresolvedFlow,
)
from penstock.graph.identifier import Identifier

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

F = TypeVar("F", bound=Callable[..., Any])

_ARGUMENTS = """

    Args:
        name: 1 to 3 parts; default: the function's name, in the pipeline's schema.
        comment: Shown by catalogs and by `penstock show`.
        spark_conf: Settings of the query, e.g. `{"pipelines.trigger.interval": "10 seconds"}`.
        table_properties: Delta table properties.
        partition_cols: Columns that partition the table; not together with `cluster_by`.
        path: Where the table is stored; default: `<storage>/tables/<schema>/<name>`.
        schema: A DDL str or StructType; default: the query's schema.
        temporary: Stored, but private to the pipeline: another pipeline on the same storage cannot read it.
        private: As `temporary`.
        cluster_by: Columns of liquid clustering.
        format: `delta`, the only format.
        refresh_policy: `auto`: when a table that a materialized view reads has changed, the view is refreshed by these
            changes, or computed in full where that is cheaper or the only way; `full`: computed at each refresh.
            `incremental` refuses a query that can only be computed in full, `incremental_strict` also a refresh that
            has to be.
        row_filter: `ROW FILTER function ON (columns)`: the rows that readers outside of the pipeline get.
        output_mode: `append`, `complete` or `update`; default: `append` where the query can, else `complete`. `update`
            merges the rows that changed into the table, once a batch.
        keys: With `update`, the columns that identify a row; default: what the query groups by.
        cluster_by_auto: Refused, with the reason.

    The function takes no arguments, returns a DataFrame, and is called more than once.
"""


class TableDecorator(Protocol):
    """A decorator of a query function, used bare (`@table`) or called (`@table(name=...)`)."""

    @overload
    def __call__(self, query_function: F, /) -> F: ...
    @overload
    def __call__(
        self,
        *,
        name: str | None = None,
        comment: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        table_properties: Mapping[str, str] | None = None,
        partition_cols: Sequence[str] | None = None,
        path: str | None = None,
        schema: StructType | str | None = None,
        temporary: bool = False,
        cluster_by: Sequence[str] | None = None,
        row_filter: str | None = None,
        private: bool = False,
        cluster_by_auto: bool = False,
        refresh_policy: str | None = None,
        format: str | None = None,
        output_mode: str | None = None,
        keys: Sequence[str] | None = None,
    ) -> Callable[[F], F]: ...


def _table_decorator(name: str, kind: type[Table], meaning: str) -> TableDecorator:
    def declare(  # noqa: PLR0917 - the order of the `dlt` API
        call: Declaration,
        /,
        query_function: Callable[..., Any] | None = None,
        name: str | None = None,
        comment: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        table_properties: Mapping[str, str] | None = None,
        partition_cols: Sequence[str] | None = None,
        path: str | None = None,
        schema: StructType | str | None = None,
        temporary: bool = False,
        cluster_by: Sequence[str] | None = None,
        row_filter: str | None = None,
        private: bool = False,
        cluster_by_auto: bool = False,
        refresh_policy: str | None = None,
        format: str | None = None,
        output_mode: str | None = None,
        keys: Sequence[str] | None = None,
    ) -> Any:
        columns, masks = masks_of(call, schema)
        options: dict[str, Any] = {
            "comment": comment,
            "spark_conf": texts(spark_conf),
            "table_properties": texts(table_properties),
            "partition_columns": tuple(partition_cols or ()),
            "cluster_by": tuple(cluster_by or ()),
            "path": path,
            "schema": columns,
            "masks": masks,
            "row_filter": row_filter_of(call, row_filter),
            "temporary": temporary or private,
            "output_mode": output_mode_of(output_mode),
            "keys": tuple(keys or ()),
            "refresh_policy": refresh_policy_of(refresh_policy),
        }

        def add(identifier: Identifier, query: Callable[[], Any], expectations: tuple[Expectation, ...]) -> int:
            dataset = kind(identifier=identifier, location=call.location, expectations=expectations, **options)
            declaration = call.registry.add_dataset(dataset)
            call.registry.add_flow(
                UnresolvedFlow(
                    name=identifier.name,
                    target=identifier,
                    function=query,
                    location=call.location,
                    spark_conf=dataset.spark_conf,
                )
            )
            return declaration

        return declare_dataset(call, query_function, name, add)

    return cast("TableDecorator", declaring(declare, name=name, doc=meaning + _ARGUMENTS, types={"keys": NAMES}))


table = _table_decorator(
    "table",
    UndecidedTable,
    """Declares a table: a streaming table if its query streams, else a materialized view.""",
)
create_table = _table_decorator("create_table", UndecidedTable, """The old name of `table`.""")
spark_table = _table_decorator(
    "table",
    LikelyStreamingTable,
    """Declares a streaming table, as Spark does; of a batch query, which Spark refuses, a materialized view.""",
)
materialized_view = _table_decorator(
    "materialized_view",
    MaterializedView,
    """Declares a table that holds its batch query's result, replaced in one commit at each refresh.""",
)
