"""Semantic rules: what can be wrong with a pipeline once each query was analysed.

Each rule is a function, `ResolvedGraph -> conditions`, in the file of its subject; `RULES` stop a run,
`WARNINGS` do not; `STRICT` ones do in a pipeline with `strict: true`. What concerns one query alone
(an unknown table, an expectation that does not resolve, a cycle) is found while the query is analysed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.analysis.rules import columns, event_time, flows, sinks, triggers
from penstock.errors import PenstockError
from penstock.graph.resolved import ResolvedGraph

Rule = Callable[[ResolvedGraph], Iterator[PenstockError]]

RULES: tuple[Rule, ...] = (
    flows.query_type,
    flows.append_flow_of_materialized_view,
    flows.complete_flow_shares_table,
    flows.output_mode_of_batch_query,
    flows.not_incremental,
    flows.update_keys_differ,
    flows.applied_changes_differ,
    columns.declared_schema_misses_column,
    columns.not_null_column_not_filled,
    columns.column_name_not_storable,
    columns.layout_column_unknown,
    columns.type_widening_not_enabled,
    sinks.kafka_sink_columns,
    sinks.jdbc_columns,
    sinks.sink_partition_columns,
    triggers.trigger_mode,
    triggers.trigger_interval,
    columns.quarantine_column_reserved,
    event_time.event_time_type,
    event_time.event_time_behind_watermark,
    event_time.join_watermark_on_one_side,
    event_time.own_state_store,
)
STRICT: tuple[Rule, ...] = (event_time.state_never_freed,)
WARNINGS: tuple[Rule, ...] = (
    columns.key_not_enforced,
    event_time.watermark_without_delay,
)


def check(graph: ResolvedGraph, *, strict: bool) -> tuple[tuple[PenstockError, ...], tuple[PenstockError, ...]]:
    """Returns the errors and the warnings of `graph`; with `strict`, what `STRICT` rules find is an error."""
    stopping, warning = ((*RULES, *STRICT), WARNINGS) if strict else (RULES, (*STRICT, *WARNINGS))
    errors = tuple(error for rule in stopping for error in rule(graph))
    return errors, tuple(found for rule in warning for found in rule(graph))
