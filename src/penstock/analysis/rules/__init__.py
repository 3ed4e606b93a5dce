"""Semantic rules: what can be wrong with a pipeline once each query was analysed.

Each rule is one file with one function, `ResolvedGraph -> conditions`; `RULES` stop a run,
`WARNINGS` do not; `STRICT` ones do in a pipeline with `strict: true`. What concerns one query alone
(an unknown table, an expectation that does not resolve, a cycle) is found while the query is analysed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.analysis.rules.append_flow_of_materialized_view import append_flow_of_materialized_view
from penstock.analysis.rules.applied_changes_differ import applied_changes_differ
from penstock.analysis.rules.column_name_not_storable import column_name_not_storable
from penstock.analysis.rules.complete_flow_shares_table import complete_flow_shares_table
from penstock.analysis.rules.declared_schema_misses_column import declared_schema_misses_column
from penstock.analysis.rules.event_time_behind_watermark import event_time_behind_watermark
from penstock.analysis.rules.event_time_type import event_time_type
from penstock.analysis.rules.jdbc_columns import jdbc_columns
from penstock.analysis.rules.join_watermark_on_one_side import join_watermark_on_one_side
from penstock.analysis.rules.kafka_sink_columns import kafka_sink_columns
from penstock.analysis.rules.key_not_enforced import key_not_enforced
from penstock.analysis.rules.layout_column_unknown import layout_column_unknown
from penstock.analysis.rules.not_null_column_not_filled import not_null_column_not_filled
from penstock.analysis.rules.output_mode_of_batch_query import output_mode_of_batch_query
from penstock.analysis.rules.own_state_store import own_state_store
from penstock.analysis.rules.quarantine_column_reserved import quarantine_column_reserved
from penstock.analysis.rules.query_type import query_type
from penstock.analysis.rules.sink_partition_columns import sink_partition_columns
from penstock.analysis.rules.state_never_freed import state_never_freed
from penstock.analysis.rules.trigger_interval import trigger_interval
from penstock.analysis.rules.trigger_mode import trigger_mode
from penstock.analysis.rules.type_widening_not_enabled import type_widening_not_enabled
from penstock.analysis.rules.update_keys_differ import update_keys_differ
from penstock.analysis.rules.watermark_without_delay import watermark_without_delay
from penstock.errors import PenstockError
from penstock.graph.resolved import ResolvedGraph

Rule = Callable[[ResolvedGraph], Iterator[PenstockError]]

RULES: tuple[Rule, ...] = (
    query_type,
    append_flow_of_materialized_view,
    complete_flow_shares_table,
    output_mode_of_batch_query,
    update_keys_differ,
    applied_changes_differ,
    declared_schema_misses_column,
    not_null_column_not_filled,
    column_name_not_storable,
    layout_column_unknown,
    type_widening_not_enabled,
    kafka_sink_columns,
    jdbc_columns,
    sink_partition_columns,
    trigger_mode,
    trigger_interval,
    quarantine_column_reserved,
    event_time_type,
    event_time_behind_watermark,
    join_watermark_on_one_side,
    own_state_store,
)
STRICT: tuple[Rule, ...] = (state_never_freed,)
WARNINGS: tuple[Rule, ...] = (
    key_not_enforced,
    watermark_without_delay,
)


def check(graph: ResolvedGraph, *, strict: bool) -> tuple[tuple[PenstockError, ...], tuple[PenstockError, ...]]:
    """Returns the errors and the warnings of `graph`; with `strict`, what `STRICT` rules find is an error."""
    stopping, warning = ((*RULES, *STRICT), WARNINGS) if strict else (RULES, (*STRICT, *WARNINGS))
    errors = tuple(error for rule in stopping for error in rule(graph))
    return errors, tuple(found for rule in warning for found in rule(graph))
