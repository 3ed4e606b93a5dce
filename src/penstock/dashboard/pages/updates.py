"""`/updates`: the runs of the pipeline; `/updates/ID`: one of them on a time axis; `/compare`: two side by side."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.requests import Request

from penstock.dashboard.log.event_window import Shown, Wanted
from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.rendering import flow_path
from penstock.dashboard.site import Page, Site, missing_page
from penstock.observe.drawing.gantt import to_gantt
from penstock.observe.flows.updates import FlowInUpdate
from penstock.observe.status.updates import UpdateStatus

_SHOWN = 50
_BARS = 200
_EVENTS = 20


def updates(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the list, newest first."""
    return Page("updates.html", "updates", context={"updates": _updates(site, snapshot)[:_SHOWN]})


def update(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page of one update."""
    known = _updates(site, snapshot)
    found = next((each for each in known if each.id == request.path_params["id"]), None)
    if found is None:
        return _unknown(request.path_params["id"])
    with site.log.lock:
        flows = site.log.projections.updates.of(found.id)
        events, _ = site.log.projections.window.newest(_EVENTS, Wanted(Shown.WARNINGS, update_id=found.id))
    before = next((each for each in known[known.index(found) + 1 :]), None)
    context = {
        "update": found,
        "before": None if before is None else before.id,
        "flows": flows[:_BARS],
        "more_flows": max(len(flows) - _BARS, 0),
        "gantt": _gantt(found, flows[:_BARS]),
        "events": events,
    }
    return Page("update.html", "updates", context=context)


def compare(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the comparison of `before` and `after`; by default the newest update and the one before it."""
    known = _updates(site, snapshot)
    ids = [each.id for each in known]
    after = request.query_params.get("after") or (ids[0] if ids else "")
    if after not in ids:
        return _unknown(after)
    earlier = ids[ids.index(after) + 1 :]
    before = request.query_params.get("before") or (earlier[0] if earlier else after)
    if before not in ids:
        return _unknown(before)
    with site.log.lock:
        old, new = (site.log.projections.updates.of(each) for each in (before, after))
    context = {
        "choices": known[:_SHOWN],
        "before": known[ids.index(before)],
        "after": known[ids.index(after)],
        "rows": compared(old, new),
    }
    return Page("compare.html", "updates", context=context)


def compared(old: tuple[FlowInUpdate, ...], new: tuple[FlowInUpdate, ...]) -> list[dict[str, Any]]:
    """Returns a row for each flow of either; `slower` when a batch takes over a fifth longer for as many rows."""
    before = {(each.dataset.casefold(), each.flow.casefold()): each for each in old}
    after = {(each.dataset.casefold(), each.flow.casefold()): each for each in new}
    rows = []
    for key in {**after, **before}:
        was, now = before.get(key), after.get(key)
        some = now or was
        assert some is not None
        pace_was = was.rows_per_second if was else None
        pace_now = now.rows_per_second if now else None
        rows.append(
            {
                "dataset": some.dataset,
                "flow": some.flow,
                "before": was,
                "after": now,
                "comparable": bool(pace_was and pace_now),
                "slower": bool(pace_was and pace_now and pace_now < pace_was / 1.2),
                "faster": bool(pace_was and pace_now and pace_now > pace_was * 1.2),
            }
        )
    return rows


def _gantt(found: UpdateStatus, flows: tuple[FlowInUpdate, ...]) -> Markup | None:
    if not flows:
        return None
    end = found.ended or found.last_event_at
    svg = to_gantt(flows, begin=found.started, end=end, link=lambda each: flow_path(each.dataset, each.flow))
    return Markup(svg)  # noqa: S704 - to_gantt escapes every name itself


def _updates(site: Site, snapshot: Snapshot) -> tuple[UpdateStatus, ...]:
    """The newest one is that of the snapshot, which knows whether its process lives."""
    with site.log.lock:
        known = site.log.projections.status.history.updates()
    current = snapshot.status.update
    return (current, *known[1:]) if current is not None and known and known[0].id == current.id else known


def _unknown(update_id: str) -> Page:
    return missing_page(
        f"There is no update '{update_id}'",
        "Only the newest 500 are known here.",
        link="/updates",
        words="To the updates",
        command="penstock events",
    )
