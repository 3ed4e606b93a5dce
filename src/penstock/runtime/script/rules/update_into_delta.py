"""Delta's own sink refuses update mode: it can only add rows or replace all of them."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import DefinitionError
from penstock.graph.resolved import UpdateKeys
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.grouping import NotGrouped, grouping_columns


def update_into_delta(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Merges the changed rows by what the query groups by."""
    if not write.is_delta or write.mode != "update" or write.path is None:
        return write
    try:
        keys = grouping_columns(write.frame)
    except NotGrouped as unknown:
        raise DefinitionError(
            "UPDATE_KEYS_NOT_FOUND",
            location=write.location,
            dataset=str(write.dataset),
            query=write.name,
            reason=unknown,
        ) from None
    return replace(write, keys=UpdateKeys(keys, distinct=True))
