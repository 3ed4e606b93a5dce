"""By which columns a flow updates the rows of its table."""

from __future__ import annotations

from pyspark.sql import DataFrame

from penstock.errors import DefinitionError, did_you_mean
from penstock.graph.elements import Table, UnresolvedFlow, declared_keys
from penstock.graph.resolved import UpdateKeys
from penstock.spark.plans.comparable import comparable
from penstock.spark.plans.grouping import NotGrouped, grouping_columns


def update_keys(flow: UnresolvedFlow, target: Table, frame: DataFrame) -> UpdateKeys:
    """Returns the keys that were declared, as the query spells them, else those that the query groups by.

    Raises:
        DefinitionError: UPDATE_KEYS_INVALID, UPDATE_KEYS_UNKNOWN.
    """
    declared = declared_keys(flow, target)
    try:
        if not declared:
            return UpdateKeys(grouping_columns(frame), distinct=True)
    except NotGrouped as unknown:
        raise flow.error("UPDATE_KEYS_UNKNOWN", flow=flow.name, target=target.identifier, reason=unknown) from None
    names = {field.name.casefold(): field for field in frame.schema}
    columns = []
    for key in dict.fromkeys(declared):
        field = names.get(key.casefold())
        if field is None:
            raise _invalid(flow, target, f"it has no column '{key}'. {did_you_mean(key, frame.columns)}".strip())
        if not comparable(field.dataType):
            kind = field.dataType.simpleString()
            raise _invalid(flow, target, f"the column '{field.name}' is of type {kind}, of which no two values compare")
        columns.append(field.name)
    try:
        grouping_columns(frame, among=columns)
    except NotGrouped:
        return UpdateKeys(tuple(columns), distinct=False)
    return UpdateKeys(tuple(columns), distinct=True)


def _invalid(flow: UnresolvedFlow, target: Table, reason: str) -> DefinitionError:
    return flow.error("UPDATE_KEYS_INVALID", flow=flow.name, target=target.identifier, reason=reason)
