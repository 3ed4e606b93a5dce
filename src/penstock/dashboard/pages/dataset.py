"""`/datasets/NAME`: what a dataset is, how it does, its rows and its rules."""

from __future__ import annotations

from starlette.requests import Request

from penstock.dashboard.log.event_window import Wanted
from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.pages.drawing import lineage_drawing, sparkline
from penstock.dashboard.site import Page, Site, unknown_dataset
from penstock.graph.elements import STORED_TYPES
from penstock.observe.column_lineage import origins_of, readers_of, rows_of

_LATEST = 8


def dataset(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page."""
    found = snapshot.status.dataset(request.path_params["name"])
    if found is None:
        return unknown_dataset(snapshot, request.path_params["name"])
    with site.log.lock:
        projections = site.log.projections
        definition = projections.definitions.of(found.name)
        events, _ = projections.window.newest(_LATEST, Wanted(dataset=found.name))
        has_series = any(len(one) for one in projections.series.of(found.name))
        flows = projections.flows.of(found.name)
        declared = projections.flows.declared()
        throughput = {each.flow.casefold(): each for each in projections.throughput.of(found.name)}
        refreshes = projections.refreshes.of(found.name)
        quality = {each.name: each for each in projections.quality.of(found.name)}
    own = [flow for flow in declared if flow.dataset.casefold() == found.name.casefold()]
    readers = readers_of(found.name, (flow for flow in declared if flow.flow_type != "view"))
    around = snapshot.lineage.around(found.name)
    context = {
        "dataset": found,
        "is_stored": found.type in STORED_TYPES,
        "definition": definition,
        "origins": origins_of((column.name for column in definition.columns), own),
        "readers": {each.name: uses for each in definition.columns if (uses := readers.get(each.name.casefold()))},
        "rows": rows_of(own),
        "pages": {each.name.casefold() for each in snapshot.status.datasets},
        "flows": flows,
        "throughput": throughput,
        "constraints": {rule.name: rule.constraint for rule in definition.rules},
        "quality": quality,
        "sparklines": {name: sparkline(each) for name, each in quality.items()},
        "has_series": has_series,
        "refreshes": refreshes,
        "problems": [each for each in snapshot.problems if each.dataset == found.name],
        "upstream": snapshot.lineage.upstream(found.name),
        "downstream": snapshot.lineage.downstream(found.name),
        "lineage_svg": lineage_drawing(snapshot, around, f"Inputs and outputs of {found.name}"),
        "events": events,
    }
    return Page("dataset.html", "dataset", context=context)
