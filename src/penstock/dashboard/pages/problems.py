"""`/problems`: what is wrong now, and every error of the log's newest events with its fix."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from penstock.dashboard.log.event_window import Shown, Wanted
from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.rendering import error_texts
from penstock.dashboard.site import Page, Site
from penstock.events import Event

_LOOKED_AT = 2000


def problems(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page."""
    with site.log.lock:
        events, _ = site.log.projections.window.newest(_LOOKED_AT, Wanted(Shown.WARNINGS))
    context = {"problems": snapshot.problems, "errors": grouped(events), "nothing_ran": snapshot.status.update is None}
    return Page("problems.html", "problems", context=context)


def grouped(newest_first: list[Event]) -> list[dict[str, Any]]:
    """Returns the errors by condition and dataset, the newest first, each with how often and when it happened."""
    found: dict[tuple[str | None, str | None], dict[str, Any]] = {}
    for event in newest_first:
        error = error_texts(event.error)
        if error is None:
            continue
        key = error["condition"] or error["message"], event.origin.dataset_name
        group = found.setdefault(
            key, {"error": error, "dataset": event.origin.dataset_name, "count": 0, "last": event.timestamp}
        )
        group["count"] += 1
        group["first"] = event.timestamp
    return list(found.values())
