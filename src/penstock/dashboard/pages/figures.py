"""The charts' figures: as JSON for the charts, only what is new, and as CSV for people; the events as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from penstock.dashboard.pages.events import wanted_of
from penstock.dashboard.rendering import safe_json
from penstock.dashboard.site import Site
from penstock.errors import StateError
from penstock.events.codec import format_timestamp
from penstock.observe.flows.series import FIGURES

_EVENTS = 5000
_FILTER = 1000
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def series(site: Site, request: Request) -> Response:
    """Answers `/series?dataset=&flow=&after=&epoch=`."""
    query = request.query_params
    with site.log.lock:
        snapshot = site.log.snapshot()
        dataset = snapshot.status.dataset(query.get("dataset", ""))
        if dataset is None:
            raise HTTPException(404)
        same_log = query.get("epoch") == str(snapshot.epoch)
        after = _integer(query.get("after"), -1) if same_log else -1
        found = site.log.projections.series.of(dataset.name, flow=query.get("flow") or None, after_sequence=after)
        capacity = site.log.projections.series.capacity
    last = max((one.sequences[-1] for one in found if len(one)), default=after)
    answer = {
        "epoch": str(snapshot.epoch),
        "last": last,
        "capacity": capacity,
        "flows": [  # each as columns, which is what the charts take; times in seconds since 1970
            {"flow": one.flow, "timestamps": one.timestamps, "updates": one.updates, "figures": one.figures}
            for one in found
        ],
    }
    return Response(safe_json(answer), media_type="application/json")


def series_csv(site: Site, request: Request) -> Response:
    """Answers `/series.csv?dataset=&flow=`."""
    query = request.query_params
    with site.log.lock:
        dataset = site.log.snapshot().status.dataset(query.get("dataset", ""))
        if dataset is None:
            raise HTTPException(404)
        found = site.log.projections.series.of(dataset.name, flow=query.get("flow") or None)
    rows = (
        (
            format_timestamp(datetime.fromtimestamp(one.timestamps[at], UTC)),
            one.dataset,
            one.flow,
            one.updates[at],
            *(one.figures[figure][at] for figure in FIGURES),
        )
        for one in found
        for at in range(len(one))
    )
    return _attachment(dataset.name, to_csv(("timestamp", "dataset", "flow", "update_id", *FIGURES), rows))


def events_csv(site: Site, request: Request) -> Response:
    """Answers `/events.csv` with the filters of `/events`."""
    with site.log.lock:
        site.log.snapshot()
        found, _ = site.log.projections.window.newest(_EVENTS, wanted_of(request))
    try:
        site.record(
            request, ["event_log"], len(found), command="events.csv", filter=request.url.query[:_FILTER] or None
        )
    except StateError as refused:
        return Response(f"{refused}\n", 403, media_type="text/plain")
    rows = (
        (
            format_timestamp(event.timestamp),
            event.level.value,
            event.event_type.value,
            event.origin.dataset_name,
            event.origin.flow_name,
            event.origin.batch_id,
            event.message,
            (event.error or {}).get("condition"),
            (event.error or {}).get("fix"),
            event.origin.update_id,
        )
        for event in found
    )
    header = ("timestamp", "level", "type", "dataset", "flow", "batch", "message", "condition", "fix", "update_id")
    return _attachment("events", to_csv(header, rows))


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Returns the rows as CSV in UTF-8; None is an empty cell.

    A text that a spreadsheet would run as a formula (OWASP, "CSV Injection") gets an apostrophe before it; numbers stay
    numbers, also negative ones.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> object:
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def _attachment(name: str, content: bytes) -> Response:
    file = _NAME.sub("_", name)[:100].strip(".") or "figures"
    headers = {"Content-Disposition": f'attachment; filename="{file}.csv"'}
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)


def _integer(text: str | None, default: int) -> int:
    try:
        return int(text or "")
    except ValueError:
        return default
