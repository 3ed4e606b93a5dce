"""The routes: overview, dataset, events, the charts' figures, the live stream and static files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

import anyio
from markupsafe import Markup
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from penstock.dashboard import page_models as models
from penstock.dashboard.event_window import Shown
from penstock.dashboard.live_log import LiveLog, Snapshot
from penstock.dashboard.rendering import dataset_path, render, safe_json
from penstock.dashboard.security import Guard
from penstock.errors import did_you_mean
from penstock.observe.drawing.svg import stylesheet, to_svg
from penstock.observe.lineage import Lineage

_LATEST = 8
_EVENTS_SHOWN = 200
_LIVE_SECONDS = 0.4


def create_application(log: LiveLog) -> ASGIApp:
    """Returns the guarded ASGI application over one event log."""
    pages = _Pages(log)
    routes = [
        Route("/", pages.overview),
        Route("/datasets/{name:path}", pages.dataset),
        Route("/events", pages.events),
        Route("/series", pages.series),
        Route("/live", pages.live),
        Route("/static/lineage.css", _lineage_stylesheet),
        Mount("/static", _Static(directory=str(resources.files("penstock.dashboard") / "static"))),
    ]
    handlers: Any = {HTTPException: pages.refused, Exception: pages.failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers))


class _Pages:
    """One method a route; the plain ones run in worker threads, because they may read the log."""

    def __init__(self, log: LiveLog) -> None:
        self._log = log

    def overview(self, request: Request) -> Response:
        with self._log.lock:
            snapshot = self._log.snapshot()
            events, _ = self._log.projections.window.newest(_LATEST)
        rows = [models.DatasetRow.of(dataset) for dataset in snapshot.status.datasets]
        return self._page(
            "overview.html",
            snapshot,
            here="overview",
            update=models.update_model(snapshot.status.update),
            datasets=rows,
            totals=models.totals(rows),
            state_words=models.state_words(rows),
            lineage_svg=_drawing(snapshot, snapshot.lineage, "Lineage of the pipeline"),
            events=models.event_models(events),
        )

    def dataset(self, request: Request) -> Response:
        name = request.path_params["name"]
        with self._log.lock:
            snapshot = self._log.snapshot()
            dataset = snapshot.status.dataset(name)
            if dataset is None:
                return self._unknown_dataset(snapshot, name)
            definition = self._log.projections.definitions.of(dataset.name)
            events, _ = self._log.projections.window.newest(_LATEST, dataset=dataset.name)
            series = self._log.projections.series.of(dataset.name)
        neighbours = snapshot.lineage.around(dataset.name)
        return self._page(
            "dataset.html",
            snapshot,
            here="dataset",
            dataset=models.DatasetRow.of(dataset),
            definition=definition,
            expectations=models.rule_rows(dataset, definition),
            has_series=any(one.points for one in series),
            lineage_svg=_drawing(snapshot, neighbours, f"Inputs and outputs of {dataset.name}"),
            events=models.event_models(events),
        )

    def events(self, request: Request) -> Response:
        shown = Shown.of(request.query_params.get("level", ""))
        asked = request.query_params.get("dataset", "")
        with self._log.lock:
            snapshot = self._log.snapshot()
            dataset = snapshot.status.dataset(asked) if asked else None
            unknown = asked if asked and dataset is None else None
            window = self._log.projections.window
            events, more = (
                ([], False)
                if unknown
                else window.newest(_EVENTS_SHOWN, shown=shown, dataset=dataset.name if dataset else None)
            )
            nothing_at_all = len(window) == 0
        names = [each.name for each in snapshot.status.datasets]
        return self._page(
            "events.html",
            snapshot,
            here="events",
            levels=[(each.value, each.words) for each in Shown],
            level=shown.value,
            names=names,
            chosen=dataset.name if dataset else "",
            events=models.event_models(events),
            more=more,
            unknown=unknown,
            suggestion=did_you_mean(unknown, names) if unknown else "",
            nothing_at_all=nothing_at_all,
        )

    def series(self, request: Request) -> Response:
        query = request.query_params
        with self._log.lock:
            snapshot = self._log.snapshot()
            dataset = snapshot.status.dataset(query.get("dataset", ""))
            if dataset is None:
                raise HTTPException(404)
            same_log = query.get("epoch") == str(snapshot.epoch)
            after = _integer(query.get("after"), -1) if same_log else -1
            series = self._log.projections.series.of(dataset.name, after_sequence=after)
            capacity = self._log.projections.series.capacity
        last = max((point.sequence for one in series for point in one.points), default=after)
        answer = {
            "epoch": str(snapshot.epoch),
            "last": last,
            "capacity": capacity,
            "flows": models.series_model(series),
        }
        return Response(safe_json(answer), media_type="application/json")

    async def live(self, request: Request) -> Response:
        return EventSourceResponse(self._versions(), ping=15, headers={"Cache-Control": "no-store"})

    def refused(self, request: Request, error: HTTPException) -> Response:
        if error.status_code != 404:
            return Response(f"{error.detail}\n", error.status_code, media_type="text/plain")
        return self._page(
            "failure.html",
            self._log.snapshot(),
            status=404,
            here="",
            heading="There is no such page",
            explanation="The address may be mistyped.",
            link="/",
            link_words="To the overview",
            command="penstock ui",
        )

    def failed(self, request: Request, error: Exception) -> Response:
        return HTMLResponse(
            "<!doctype html><title>Penstock</title><p>This page could not be made. The run is not affected; "
            "<code>penstock status</code> and <code>penstock events</code> show the same facts.</p>",
            status_code=500,
        )

    async def _versions(self) -> AsyncIterator[ServerSentEvent]:
        """Tells the version at once and whenever it changes; the page then asks for what it shows."""
        told = None
        while not self._log.closed:
            snapshot = await run_in_threadpool(self._log.snapshot)
            if snapshot.version != told:
                told = snapshot.version
                yield ServerSentEvent(data=told, event="version", retry=1000)
            await anyio.sleep(_LIVE_SECONDS)

    def _unknown_dataset(self, snapshot: Snapshot, name: str) -> Response:
        names = [dataset.name for dataset in snapshot.status.datasets]
        by_part = {known.rpartition(".")[2].casefold(): known for known in names}
        closest = by_part.get(name.casefold()) or _only(did_you_mean(name, names), names)
        return self._page(
            "failure.html",
            snapshot,
            status=404,
            here="",
            heading=f"There is no dataset '{name}'",
            explanation="" if closest else "The pipeline's newest update does not define it.",
            link=dataset_path(closest) if closest else "/",
            link_words=f"Did you mean '{closest}'?" if closest else "To the overview",
            command="penstock graph" if names else "penstock run",
        )

    def _page(self, template: str, snapshot: Snapshot, *, status: int = 200, **context: Any) -> Response:
        update = snapshot.status.update
        html = render(
            template,
            version=snapshot.version,
            pipeline=update.pipeline if update else None,
            storage=self._log.storage,
            skipped=snapshot.skipped,
            problem=snapshot.problem,
            **context,
        )
        return HTMLResponse(html, status_code=status)


class _Static(StaticFiles):
    """Files of the package; a browser asks each time whether they changed, so that an upgrade shows at once."""

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers.setdefault("Cache-Control", "no-cache")
        return response


def _lineage_stylesheet(request: Request) -> Response:
    return Response(stylesheet(), media_type="text/css", headers={"Cache-Control": "no-cache"})


def _drawing(snapshot: Snapshot, lineage: Lineage, title: str) -> Markup | None:
    if not lineage.nodes:
        return None

    def link(name: str) -> str | None:
        return dataset_path(name) if snapshot.status.dataset(name) is not None else None

    # to_svg escapes every name itself
    return Markup(to_svg(lineage.with_status(snapshot.status), link=link, embedded=True, title=title))  # noqa: S704


def _only(suggestion: str, names: list[str]) -> str | None:
    """The first name that a "did you mean" sentence mentions."""
    mentioned = [name for name in names if f"'{name}'" in suggestion]
    return min(mentioned, key=lambda name: suggestion.index(f"'{name}'"), default=None)


def _integer(text: str | None, default: int) -> int:
    try:
        return int(text or "")
    except ValueError:
        return default
