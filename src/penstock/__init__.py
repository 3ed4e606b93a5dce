"""Penstock: declarative streaming pipelines on Spark Structured Streaming and Delta Lake.

    import penstock as ps

    @ps.table
    @ps.expect_or_drop("an amount", "amount > 0")
    def orders():
        return spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("./data")

The declarations are loaded at their first use, so that the command line starts without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.declare.expectations import (
        expect,
        expect_all,
        expect_all_or_drop,
        expect_all_or_fail,
        expect_or_drop,
        expect_or_fail,
    )
    from penstock.declare.flows import append_flow
    from penstock.declare.reads import read, read_stream, readStream
    from penstock.declare.streaming_tables import (
        create_streaming_live_table,
        create_streaming_table,
        create_target_table,
    )
    from penstock.declare.tables import create_table, materialized_view, table
    from penstock.declare.views import create_view, temporary_view, view

__all__ = [
    "append_flow",
    "create_streaming_live_table",
    "create_streaming_table",
    "create_table",
    "create_target_table",
    "create_view",
    "expect",
    "expect_all",
    "expect_all_or_drop",
    "expect_all_or_fail",
    "expect_or_drop",
    "expect_or_fail",
    "materialized_view",
    "read",
    "readStream",
    "read_stream",
    "table",
    "temporary_view",
    "view",
]

_REFUSED = frozenset(
    {
        "apply_changes",
        "apply_changes_from_snapshot",
        "create_auto_cdc_flow",
        "create_auto_cdc_from_snapshot_flow",
        "create_sink",
        "enable_local_execution",
        "expect_all_or_quarantine",
        "expect_or_quarantine",
        "foreach_batch_sink",
        "on_event_hook",
        "update_flow",
    }
)


def __getattr__(name: str) -> Any:
    # The names are listed, so that `from penstock import cli` does not load the declarations.
    if name in __all__ or name in _REFUSED:
        from penstock.declare.spellings import SPELLINGS

        return SPELLINGS[__name__][name]
    import sys

    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
