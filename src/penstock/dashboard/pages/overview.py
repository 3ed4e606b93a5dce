"""`/`: what is wrong, the graph with live numbers, all datasets."""

from __future__ import annotations

from starlette.requests import Request

from penstock.dashboard import page_models as models
from penstock.dashboard.live_log import Snapshot
from penstock.dashboard.pages.drawing import lineage_drawing
from penstock.dashboard.site import Page, Site

_LATEST = 8
_PROBLEMS = 12


def overview(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page."""
    with site.log.lock:
        events, _ = site.log.projections.window.newest(_LATEST)
        behind = {each.dataset.casefold() for each in site.log.projections.throughput.all() if each.falling_behind}
    rows = [models.DatasetRow.of(dataset) for dataset in snapshot.status.datasets]
    context = {
        "update": models.update_model(snapshot.status.update),
        "cluster": snapshot.status.cluster,
        "datasets": rows,
        "behind": behind if models.is_running(snapshot.status.update) else set(),
        "totals": models.totals(rows),
        "state_words": models.state_words(rows),
        "problems": snapshot.problems[:_PROBLEMS],
        "more_problems": max(len(snapshot.problems) - _PROBLEMS, 0),
        "lineage_svg": lineage_drawing(snapshot, snapshot.lineage, "Lineage of the pipeline"),
        "events": models.event_models(events),
    }
    return Page("overview.html", "overview", context=context)
