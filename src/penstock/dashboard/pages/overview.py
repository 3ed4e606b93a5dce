"""`/`: what is wrong, the graph with live numbers, all datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request

from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.pages.drawing import lineage_drawing
from penstock.dashboard.site import Page, Site
from penstock.observe.status.pipeline_status import DatasetStatus

_LATEST = 8
_PROBLEMS = 12


def overview(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page."""
    with site.log.lock:
        events, _ = site.log.projections.window.newest(_LATEST)
        behind = {each.dataset.casefold() for each in site.log.projections.throughput.all() if each.falling_behind}
    datasets = snapshot.status.datasets
    context = {
        "update": snapshot.status.update,
        "cluster": snapshot.status.cluster,
        "datasets": datasets,
        "behind": behind,
        "totals": _totals(datasets),
        "state_words": _state_words(datasets),
        "problems": snapshot.problems[:_PROBLEMS],
        "more_problems": max(len(snapshot.problems) - _PROBLEMS, 0),
        "lineage_svg": lineage_drawing(snapshot, snapshot.lineage, "Lineage of the pipeline"),
        "events": events,
    }
    return Page("overview.html", "overview", context=context)


def _totals(datasets: Sequence[DatasetStatus]) -> dict[str, Any]:
    """Returns the figures over all datasets."""
    return {
        "rows": sum(each.rows or 0 for each in datasets),
        "dropped": sum(each.dropped or 0 for each in datasets),
        "quarantined": sum(each.quarantined or 0 for each in datasets),
        "has_quarantine": any(each.has_quarantine for each in datasets),
        "late": sum(each.late or 0 for each in datasets),
        "passed": sum(each.passed for each in datasets),
        "checked": sum(each.checked for each in datasets),
        "last_batch_at": max((each.last_batch_at for each in datasets if each.last_batch_at), default=None),
    }


def _state_words(datasets: Sequence[DatasetStatus]) -> str:
    """Returns `4 completed, 1 failed`, the most frequent first; views, which have no state, are left out."""
    counts = Counter(each.status.value.lower() for each in datasets if each.status is not None)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common()) or "not started"
