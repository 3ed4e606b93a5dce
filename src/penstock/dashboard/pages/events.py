"""`/events`: everything that happened, with filters."""

from __future__ import annotations

from starlette.requests import Request

from penstock.dashboard.log.event_window import Shown, Wanted
from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.site import Page, Site
from penstock.errors import did_you_mean
from penstock.events import EventType

SHOWN = 200


def wanted_of(request: Request) -> Wanted:
    """Returns what the address asks for; a level or type that does not exist asks for nothing special."""
    query = request.query_params
    return Wanted(
        Shown.of(query.get("level", "")),
        query.get("dataset") or None,
        next((each.value for each in EventType if each.value == query.get("type")), None),
        query.get("update") or None,
        query.get("text", "")[:200],
    )


def events(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page."""
    wanted = wanted_of(request)
    names = [each.name for each in snapshot.status.datasets]
    dataset = snapshot.status.dataset(wanted.dataset) if wanted.dataset else None
    unknown = wanted.dataset if wanted.dataset and dataset is None else None
    with site.log.lock:
        window = site.log.projections.window
        found, more = ([], False) if unknown else window.newest(SHOWN, wanted)
        nothing_at_all = len(window) == 0
    context = {
        "levels": [(each.address, each.words) for each in Shown],
        "level": wanted.shown.address,
        "types": [(each.value, each.value.replace("_", " ")) for each in EventType],
        "type": wanted.event_type or "",
        "names": names,
        "chosen": dataset.name if dataset else "",
        "text": wanted.text,
        "update_id": wanted.update_id or "",
        "query": request.url.query,
        "events": found,
        "more": more,
        "unknown": unknown,
        "suggestion": did_you_mean(unknown, names) if unknown else "",
        "nothing_at_all": nothing_at_all,
    }
    return Page("events.html", "events", context=context)
