"""`/datasets/NAME`: what a dataset is, how it does, its rows and its rules."""

from __future__ import annotations

from starlette.requests import Request

from penstock.dashboard import page_models as models
from penstock.dashboard.column_rows import columns_table
from penstock.dashboard.event_window import Wanted
from penstock.dashboard.live_log import Snapshot
from penstock.dashboard.pages.drawing import lineage_drawing
from penstock.dashboard.site import Page, Site, unknown_dataset

_LATEST = 8
_STORED = {"STREAMING_TABLE", "MATERIALIZED_VIEW"}


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
        quality = projections.quality.of(found.name)
    around = snapshot.lineage.around(found.name)
    context = {
        "dataset": models.DatasetRow.of(found),
        "running": models.is_running(snapshot.status.update),
        "is_stored": found.type in _STORED,
        "definition": definition,
        "columns": columns_table(definition, declared, [each.name for each in snapshot.status.datasets]),
        "flows": [models.flow_row(flow, throughput.get(flow.flow.casefold())) for flow in flows],
        "expectations": models.rule_rows(found, definition, quality),
        "has_series": has_series,
        "problems": [each for each in snapshot.problems if each.dataset == found.name],
        "upstream": snapshot.lineage.upstream(found.name),
        "downstream": snapshot.lineage.downstream(found.name),
        "lineage_svg": lineage_drawing(snapshot, around, f"Inputs and outputs of {found.name}"),
        "events": models.event_models(events),
    }
    return Page("dataset.html", "dataset", context=context)
