"""The three spellings of the one set of declarations: `penstock`, `dlt` and `pyspark.pipelines`.

They differ in one name: of a batch query in `pyspark.pipelines.table` there is a notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from penstock.declare.datasets.streaming_tables import (
    create_streaming_live_table,
    create_streaming_table,
    create_target_table,
)
from penstock.declare.datasets.tables import create_table, materialized_view, spark_table, table
from penstock.declare.datasets.views import create_view, temporary_view, view
from penstock.declare.event_hooks import on_event_hook
from penstock.declare.expectations import (
    expect,
    expect_all,
    expect_all_or_drop,
    expect_all_or_fail,
    expect_all_or_quarantine,
    expect_event_time,
    expect_or_drop,
    expect_or_fail,
    expect_or_quarantine,
    expect_unique,
)
from penstock.declare.flows.change_flows import apply_changes, create_auto_cdc_flow
from penstock.declare.flows.query_flows import append_flow, update_flow
from penstock.declare.flows.sinks import create_sink, foreach_batch_sink
from penstock.declare.flows.snapshot_flows import apply_changes_from_snapshot, create_auto_cdc_from_snapshot_flow
from penstock.declare.reads import read, read_stream, readStream


def enable_local_execution() -> None:
    """Does nothing: a pipeline always runs where it is started."""


_SHARED: dict[str, Callable[..., Any]] = {
    "append_flow": append_flow,
    "apply_changes": apply_changes,
    "apply_changes_from_snapshot": apply_changes_from_snapshot,
    "create_auto_cdc_flow": create_auto_cdc_flow,
    "create_auto_cdc_from_snapshot_flow": create_auto_cdc_from_snapshot_flow,
    "create_sink": create_sink,
    "create_streaming_live_table": create_streaming_live_table,
    "create_streaming_table": create_streaming_table,
    "create_table": create_table,
    "create_target_table": create_target_table,
    "create_view": create_view,
    "enable_local_execution": enable_local_execution,
    "expect": expect,
    "expect_all": expect_all,
    "expect_all_or_drop": expect_all_or_drop,
    "expect_all_or_fail": expect_all_or_fail,
    "expect_all_or_quarantine": expect_all_or_quarantine,
    "expect_event_time": expect_event_time,
    "expect_or_drop": expect_or_drop,
    "expect_or_fail": expect_or_fail,
    "expect_or_quarantine": expect_or_quarantine,
    "expect_unique": expect_unique,
    "foreach_batch_sink": foreach_batch_sink,
    "materialized_view": materialized_view,
    "on_event_hook": on_event_hook,
    "read": read,
    "readStream": readStream,
    "read_stream": read_stream,
    "table": table,
    "temporary_view": temporary_view,
    "update_flow": update_flow,
    "view": view,
}

SPELLINGS: Mapping[str, Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "penstock": _SHARED,
        "dlt": _SHARED,
        "pyspark.pipelines": {**_SHARED, "table": spark_table},
    }
)
"""Module name -> what the module holds."""
