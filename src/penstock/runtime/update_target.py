"""What brings the rows of an update flow into its table."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.resolved import ResolvedFlow, UpdateKeys
from penstock.graph.schema import Schema
from penstock.plan.stages import RunStreamingFlow
from penstock.runtime.services import FlowQueries, FlowQuery
from penstock.spark.checking_writer import CheckingWriter
from penstock.spark.update_writer import UpdateWriter


def merging_updates(
    stage: RunStreamingFlow, keys: UpdateKeys, services: FlowQueries, query: FlowQuery
) -> CheckingWriter:
    """Returns the writer of an update flow's `query`; called for each start of it."""
    assert query.checking is not None, "rows that are merged are held first"
    stored = services.graph.stored_schemas[stage.dataset]
    keys = replace(keys, distinct=keys.distinct and _keeps_keys(stage.flow, keys, stored))
    writer = UpdateWriter(stage.flow.flow.name, str(stage.dataset), stage.path, keys)
    return replace(query.checking, apply=writer.apply)


def _keeps_keys(flow: ResolvedFlow, keys: UpdateKeys, stored: Schema) -> bool:
    """Whether the table has the keys in the query's types: a cast can make one of two."""
    own, there = ({each.name.casefold(): each.type for each in schema.columns} for schema in (flow.schema, stored))
    return all(own.get(key.casefold()) == there.get(key.casefold()) for key in keys.columns)
