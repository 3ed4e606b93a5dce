"""The routes: pages, their parts that read tables, the charts' figures, the live stream and static files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from html import escape
from importlib import resources
from typing import Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from penstock.dashboard.actions import Actions
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.pages import figures, stored
from penstock.dashboard.pages.acting import act
from penstock.dashboard.pages.cost import CostPage
from penstock.dashboard.pages.dataset import dataset
from penstock.dashboard.pages.events import events
from penstock.dashboard.pages.flow import flow
from penstock.dashboard.pages.overview import overview
from penstock.dashboard.pages.problems import problems
from penstock.dashboard.pages.updates import compare, update, updates
from penstock.dashboard.serving.access import Access
from penstock.dashboard.serving.connections import Limits
from penstock.dashboard.serving.security import Guard
from penstock.dashboard.site import Site, missing_page
from penstock.dashboard.sites import Sites
from penstock.errors import PenstockError
from penstock.observe.drawing.svg import stylesheet

_LIVE_SECONDS = 0.4
_FETCHES_PER_SECOND = 400  # of all viewers together: a fifth of a core, as a page that is made takes half a millisecond


def create_application(
    log: LiveLog,
    access: Access = Access(),  # noqa: B008 - frozen
    *,
    streams: int = Limits().streams,
    pipeline: KnownPipeline = KnownPipeline(),  # noqa: B008 - frozen
) -> ASGIApp:
    """Returns the guarded ASGI application over one event log; what may read the log runs in worker threads.

    At most `streams` pages follow the log at a time.
    """
    login = "none" if access.token is None else "token"
    site = Site(log, pipeline, actions=access.actions, login=login, user_of=access.user_of)
    sites = Sites(site)
    live = _Live(sites, streams)
    acting: list[BaseRoute] = []
    if access.run_command is not None:
        actions = Actions(log.storage, access.run_command)
        acting.append(Route("/actions/{action}", partial(act, sites, actions), methods=["POST"]))
    routes = [
        *acting,
        Route("/", sites.shows(overview)),
        Route("/datasets/{name:path}", sites.shows(dataset)),
        Route("/flows/{name:path}", sites.shows(flow)),
        Route("/problems", sites.shows(problems)),
        Route("/updates", sites.shows(updates)),
        Route("/updates/{id:path}", sites.shows(update)),
        Route("/compare", sites.shows(compare)),
        Route("/events", sites.shows(events)),
        Route("/events.csv", sites.answers(figures.events_csv)),
        Route("/series", sites.answers(figures.series)),
        Route("/series.csv", sites.answers(figures.series_csv)),
        Route("/checks", sites.shows(stored.checks)),
        Route("/checks/findings", partial(stored.findings, site)),
        Route("/cost", sites.answers(CostPage().answer)),
        Route("/stored/{kind}/{name:path}", partial(stored.stored, site)),
        Route("/live", live.stream),
        Route("/static/lineage.css", _lineage_stylesheet),
        Mount("/static", _Static(directory=str(resources.files("penstock.dashboard") / "static"))),
    ]
    handlers: Any = {HTTPException: partial(_refused, sites), PenstockError: _unreadable, Exception: _failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), access)


class _Live:
    """Sends each open page at once, and whenever it changes, which state of the log is the newest.

    The page then asks for what it shows. With many viewers each is notified less often: what they fetch together
    stays as much, and the newest state is never more than a few seconds away.
    """

    def __init__(self, sites: Sites, most_viewers: int) -> None:
        self._sites = sites
        self._most_viewers = most_viewers
        self._viewers = 0

    async def stream(self, request: Request) -> Response:
        if self._viewers >= self._most_viewers:
            return Response("Too many pages are open.\n", 503, media_type="text/plain")  # the page tries again
        log = (await run_in_threadpool(self._sites.of, request)).log
        return EventSourceResponse(self._versions(log), ping=15, headers={"Cache-Control": "no-store"})

    async def _versions(self, log: LiveLog) -> AsyncIterator[ServerSentEvent]:
        sent = None
        self._viewers += 1
        try:
            while not self._sites.whole.log.closed:
                snapshot = await run_in_threadpool(log.snapshot)
                if snapshot.version != sent:
                    sent = snapshot.version
                    yield ServerSentEvent(data=sent, event="version", retry=1000)
                await anyio.sleep(max(_LIVE_SECONDS, self._viewers / _FETCHES_PER_SECOND))
        finally:
            self._viewers -= 1


class _Static(StaticFiles):
    """Files of the package; a browser asks each time whether they changed, so that an upgrade shows at once."""

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers.setdefault("Cache-Control", "no-cache")
        return response


def _lineage_stylesheet(request: Request) -> Response:
    return Response(stylesheet(), media_type="text/css", headers={"Cache-Control": "no-cache"})


def _refused(sites: Sites, request: Request, error: HTTPException) -> Response:
    if error.status_code != 404:
        return Response(f"{error.detail}\n", error.status_code, media_type="text/plain")
    site = sites.of(request)
    page = missing_page("There is no such page", "The address may be mistyped.", command="penstock ui")
    return site.answer(page, site.log.snapshot())


def _unreadable(request: Request, error: PenstockError) -> Response:
    """Who may see what cannot be read: then nobody sees anything."""
    return HTMLResponse(
        f"<!doctype html><title>Penstock</title><p>{escape(error.message)} {escape(error.fix or '')}</p>", 503
    )


def _failed(request: Request, error: Exception) -> Response:
    return HTMLResponse(
        "<!doctype html><title>Penstock</title><p>This page could not be made. The run is not affected; "
        "<code>penstock status</code> and <code>penstock events</code> show the same facts.</p>",
        status_code=500,
    )
