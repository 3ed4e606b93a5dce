"""Whether a materialized view can be refreshed by what has changed in its inputs."""

from __future__ import annotations

from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import MaterializedView, RefreshPolicy, has_uniqueness
from penstock.graph.resolved import ResolvedFlow


def full_only(view: MaterializedView, flow: ResolvedFlow, *, constrained: bool) -> str | None:
    """Returns why a view can only be computed in full, None when it need not be; "" when that is not known.

    `constrained` says that its table enforces or computes columns.
    """
    if view.refresh_policy is RefreshPolicy.FULL:
        return "its refresh_policy is full"
    if has_quarantine(view):
        return "its expectations quarantine rows"
    if has_uniqueness(view):
        return "an expectation compares its rows with each other"
    if constrained:
        return "its table enforces or computes columns"
    definition = flow.definition
    if definition is None:
        return "its definition is not known"
    return definition.always or (None if definition.methods else definition.full)
