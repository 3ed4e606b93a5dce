"""`POST /actions/stop` and `/actions/refresh`: only with `--allow-actions`, only from the dashboard's own pages."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from penstock.dashboard.actions import Actions
from penstock.dashboard.rendering import dataset_path
from penstock.dashboard.serving.security import LONGEST_BODY
from penstock.dashboard.site import missing_page
from penstock.dashboard.sites import Sites
from penstock.errors import PenstockError


async def act(sites: Sites, actions: Actions, request: Request) -> Response:
    """Does one thing and leads back to the page it was requested from; 409 with the reason when it is not possible."""
    form = await _form(request)
    return await run_in_threadpool(_act, sites, actions, request, form)


def _act(sites: Sites, actions: Actions, request: Request, form: dict[str, list[str]]) -> Response:
    site = sites.of(request)
    snapshot = site.log.snapshot()
    update, by = snapshot.status.update, site.viewer(request)
    pipeline = update.pipeline if update else ""
    requested = form.get("dataset", [""])[0]
    dataset = snapshot.status.dataset(requested)
    if requested and dataset is None:
        raise HTTPException(404)
    name = None if dataset is None else dataset.name
    try:
        match request.path_params["action"]:
            case "stop":
                actions.stop(pipeline, by=by)
            case "refresh":
                full = form.get("full", [""])[0] == "yes" and name is not None
                actions.refresh(pipeline, name, full=full, by=by)
            case _:
                raise HTTPException(404)
    except PenstockError as error:
        page = missing_page(error.message, error.fix or "", command="penstock status", status=409)
        return site.answer(page, snapshot)
    return RedirectResponse("/" if name is None else dataset_path(name), 303)


async def _form(request: Request) -> dict[str, list[str]]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_BODY:
            raise HTTPException(413)
    return parse_qs(body.decode("utf-8", "replace"))
