"""Whether a materialized view has to be computed again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.events.flows.refresh import RefreshMethod
from penstock.events.flows.refresh_costs import measured
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import MaterializedView, RefreshPolicy
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.graph.rules.refreshing import full_only
from penstock.plan.state import RefreshRecord, StateSnapshot


@dataclass(frozen=True, slots=True)
class RefreshDecision:
    """Why a view is computed again, or left as it is.

    With `last` that is decided when the tables that it reads are complete; `unchanged` says that
    nothing can have changed by then.
    """

    reason: str
    last: RefreshRecord | None = None
    unchanged: bool = False


def recorded_inputs(graph: ResolvedGraph, flow: ResolvedFlow, paths: Mapping[Identifier, str]) -> dict[str, str]:
    """Returns name and path of each Delta table that a materialized view reads, seen through views."""
    found: dict[str, str] = {}
    for read in graph.stored_inputs(flow.inputs):
        if read.dataset is not None:
            path = paths[read.dataset]
            name = str(quarantine_of(read.dataset) if read.from_quarantine else read.dataset)
            found[name.casefold()] = quarantine_path(path) if read.from_quarantine else path
    outside = flow.definition.outside if flow.definition is not None else ()
    return found | {path: path for path in outside}


def changed_inputs(last: RefreshRecord, versions: Mapping[str, str], inputs: Iterable[str]) -> list[str]:
    """Returns the names of `inputs` whose version is not the one that the last refresh read."""
    return [name for name in inputs if name not in versions or last.inputs.get(name) != versions[name]]


def decide_refresh(
    view: MaterializedView,
    flow: ResolvedFlow,
    state: StateSnapshot,
    *,
    inputs: Iterable[str],
    changing: Iterable[Identifier],
    reset: bool,
    constrained: bool = False,
) -> RefreshDecision:
    """Returns whether and how `view` is refreshed; `changing` are the inputs that this update may write to.

    `constrained` says that its table enforces or computes columns.
    """
    last = state.refreshed.get(view.identifier)
    if (why := next(_always(view, flow, state, last, reset=reset), None)) is not None:
        return RefreshDecision(f"{_REPLACED}: {why}")
    assert last is not None
    how, why_so = _how(view, flow, last, constrained=constrained)
    if changed := changed_inputs(last, state.versions, inputs):
        return RefreshDecision(f"{how}: {_new_versions(changed)}{why_so}", last)
    if upstream := list(map(str, changing)):
        return RefreshDecision(f"{how} unless {', '.join(upstream)} stays as it is{why_so}", last)
    return RefreshDecision(f"unchanged, not computed again: {UNCHANGED}", last, unchanged=True)


def _how(view: MaterializedView, flow: ResolvedFlow, last: RefreshRecord, *, constrained: bool) -> tuple[str, str]:
    """Returns how a view is refreshed when something has changed, and why not in another way, if so."""
    why = full_only(view, flow, constrained=constrained)
    if why is None and not last.exact:
        why = "this once, because its last refresh did not note exactly what it had read"
    if why is not None or flow.definition is None:
        return _REPLACED, f"; in full: {why}" if why else ""
    how = f"refreshed by what has changed ({' or '.join(flow.definition.methods)})"
    costs = measured(last.history, [RefreshMethod(each) for each in flow.definition.methods])
    if view.refresh_policy is not RefreshPolicy.AUTO or not costs:
        return how, ""
    return f"{how} or in full, whichever is estimated to be quicker", f"; {costs}"


_REPLACED = "recomputed and replaced in one commit"

ABSENT = "absent"
"""The version of a table that does not exist."""

UNCHANGED = "no table that it reads has a new version, and its definition is the same"


def _new_versions(names: list[str]) -> str:
    return f"{', '.join(names)} {'has a new version' if len(names) == 1 else 'have new versions'}"


def _always(
    view: MaterializedView, flow: ResolvedFlow, state: StateSnapshot, last: RefreshRecord | None, *, reset: bool
) -> Iterator[str]:
    """The reasons that no look at versions can outweigh, the most important one first."""
    existing = state.tables.get(view.identifier)
    if existing is None:
        yield "it has no rows yet"
    elif has_quarantine(view):
        stored = state.tables.get(quarantine_of(view.identifier))
        if stored is None or stored.generation != existing.generation:
            yield "its quarantine has no rows yet"
    if reset:
        yield "full refresh"
    if view.refresh_policy is RefreshPolicy.FULL:
        yield "its refresh_policy is full"
    if flow.definition is None:
        yield "its definition is not known"
    elif flow.definition.always is not None:
        yield flow.definition.always
    if last is None:
        yield "its present rows were not written by a refresh that noted what it read"
    elif flow.definition is not None and last.definition != flow.definition.fingerprint:
        yield "its definition has changed"
