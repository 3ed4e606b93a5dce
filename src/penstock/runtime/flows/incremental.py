"""How a materialized view of an update is refreshed: by what has changed, or in full."""

from __future__ import annotations

from deltalake.exceptions import DeltaError

from penstock.events import RefreshMethod
from penstock.events.flows.refresh_costs import NOTHING_MEASURED
from penstock.graph.elements import MaterializedView, OnViolation, RefreshPolicy
from penstock.graph.rules.refreshing import full_only
from penstock.plan.stages import RefreshMaterializedView
from penstock.plan.state import RefreshRecord
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.storage_state.refresh_notes import last_refresh
from penstock.spark.writers.incremental.refresh import Refresh, View, choose_refresh
from penstock.storage.delta.table import open_delta_table


def refresh_of(stage: RefreshMaterializedView, services: FlowServices, *, again: bool) -> Refresh | None:
    """Returns a refresh at exact versions of its inputs; None for a query that is computed in full, as it is.

    `again` says that this update has refreshed the view before.

    Raises:
        StateError: INCREMENTAL_REFRESH_IMPOSSIBLE.
        Exception: what the flow's function or Spark raises.
    """
    flow, table = stage.flow, services.graph.tables[stage.dataset]
    definition = flow.definition
    assert isinstance(table, MaterializedView)
    if definition is None or full_only(table, flow, constrained=stage.keeps_schema) is not None:
        return None
    going_on = stage.last is not None or again
    last = _record_in(stage.path) if going_on else None
    known = last is not None and last.exact and last.definition == definition.fingerprint
    view = View(
        stage.path,
        {path: name for name, path in stage.inputs.items()},
        last.inputs if known and last is not None else None,
        counted=bool(table.expectations),
        dropping=any(each.on_violation is OnViolation.DROP for each in table.expectations),
        by_cost=table.refresh_policy is RefreshPolicy.AUTO,
        history=last.history if known and last is not None else NOTHING_MEASURED,
    )
    refresh = choose_refresh(services.rows(flow), view, services.spark_conf(flow))
    if view.last is not None:
        refuse_if_strict(refresh, stage, services)
    return refresh


def refuse_if_strict(refresh: Refresh, stage: RefreshMaterializedView, services: FlowServices) -> None:
    """Refuses a full refresh of a view whose policy does not allow one.

    Raises:
        StateError: INCREMENTAL_REFRESH_IMPOSSIBLE.
    """
    table = services.graph.tables[stage.dataset]
    strict = table.refresh_policy is RefreshPolicy.INCREMENTAL_STRICT
    if strict and refresh.choice.method is RefreshMethod.FULL:
        raise table.refusal("INCREMENTAL_REFRESH_IMPOSSIBLE", reason=refresh.choice.why)


def _record_in(path: str) -> RefreshRecord | None:
    """Returns what the view stands for by its own log: an attempt that failed may have been committed."""
    try:
        return last_refresh(open_delta_table(path))
    except (DeltaError, OSError):
        return None
