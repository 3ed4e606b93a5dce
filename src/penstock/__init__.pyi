"""What type checkers and editors see; the names are the same as in `__init__.py`, and a test compares them."""

from penstock import sources as sources
from penstock.declare.datasets.streaming_tables import create_streaming_live_table as create_streaming_live_table
from penstock.declare.datasets.streaming_tables import create_streaming_table as create_streaming_table
from penstock.declare.datasets.streaming_tables import create_target_table as create_target_table
from penstock.declare.datasets.tables import create_table as create_table
from penstock.declare.datasets.tables import materialized_view as materialized_view
from penstock.declare.datasets.tables import table as table
from penstock.declare.datasets.views import create_view as create_view
from penstock.declare.datasets.views import temporary_view as temporary_view
from penstock.declare.datasets.views import view as view
from penstock.declare.event_hooks import on_event_hook as on_event_hook
from penstock.declare.expectations import expect as expect
from penstock.declare.expectations import expect_all as expect_all
from penstock.declare.expectations import expect_all_or_drop as expect_all_or_drop
from penstock.declare.expectations import expect_all_or_fail as expect_all_or_fail
from penstock.declare.expectations import expect_all_or_quarantine as expect_all_or_quarantine
from penstock.declare.expectations import expect_event_time as expect_event_time
from penstock.declare.expectations import expect_or_drop as expect_or_drop
from penstock.declare.expectations import expect_or_fail as expect_or_fail
from penstock.declare.expectations import expect_or_quarantine as expect_or_quarantine
from penstock.declare.expectations import expect_unique as expect_unique
from penstock.declare.flows.change_flows import apply_changes as apply_changes
from penstock.declare.flows.change_flows import create_auto_cdc_flow as create_auto_cdc_flow
from penstock.declare.flows.query_flows import append_flow as append_flow
from penstock.declare.flows.query_flows import update_flow as update_flow
from penstock.declare.flows.sinks import create_sink as create_sink
from penstock.declare.flows.sinks import foreach_batch_sink as foreach_batch_sink
from penstock.declare.flows.snapshot_flows import apply_changes_from_snapshot as apply_changes_from_snapshot
from penstock.declare.flows.snapshot_flows import (
    create_auto_cdc_from_snapshot_flow as create_auto_cdc_from_snapshot_flow,
)
from penstock.declare.reads import read as read
from penstock.declare.reads import read_stream as read_stream
from penstock.declare.reads import readStream as readStream

__all__: list[str]
