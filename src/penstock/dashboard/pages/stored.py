"""The parts of a page that read tables: sample rows and versions, quarantined and late rows, and the checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from penstock.access.sight import EVENT_LOG
from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.site import Page, Site
from penstock.errors import PenstockError, StateError
from penstock.graph.companions.late_rows import late_rows_of
from penstock.graph.companions.quarantine import quarantine_of
from penstock.graph.identifier import Identifier

_KINDS: Final[Mapping[str, Callable[[Identifier], Identifier]]] = {
    "table": lambda table: table,
    "quarantine": quarantine_of,
    "late": late_rows_of,
}
"""What a page shows of a dataset, and the table that it is read from."""


def stored(site: Site, request: Request) -> Response:
    """Answers `/stored/KIND/NAME?version=N`, a part of the dataset's page; reading may take seconds."""
    kind, snapshot = request.path_params["kind"], site.log.snapshot()
    dataset = snapshot.status.dataset(request.path_params["name"])
    if kind not in _KINDS or dataset is None:
        raise HTTPException(404)
    with site.log.lock:
        path = site.log.projections.definitions.of(dataset.name).path
    version = request.query_params.get("version", "")
    query: dict[str, Any] = {"name": dataset.name, "path": path}
    if kind == "table":
        query["version"] = int(version) if version.isascii() and version.isdecimal() and len(version) < 16 else None
    unrecorded = None
    try:
        site.check(request, _KINDS[kind](Identifier.recorded(dataset.name)))
        answer = site.stored.read(kind, **query)
    except PenstockError as refused:
        answer = {"error": refused.to_json()}
    if answer.get("rows"):
        details = {"command": "rows", "kind": kind, "version": answer.get("version")}
        try:
            unrecorded = site.record(request, [dataset.name], len(answer["rows"]), **details)
        except StateError as refused:
            answer = {**answer, "error": refused.to_json()}
    context = {"kind": kind, "name": dataset.name, "answer": answer, "unrecorded": unrecorded}
    return site.answer(Page("stored.html", context=context), snapshot)


def checks(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes `/checks`, whose findings come with `/checks/findings`."""
    return Page("checks.html", "checks", context={"nothing_ran": snapshot.status.update is None})


def findings(site: Site, request: Request) -> Response:
    """Answers `/checks/findings`: what `penstock doctor` would say now."""
    snapshot, groups = site.log.snapshot(), dict[str, list[Mapping[str, Any]]]()
    try:
        site.check(request, EVENT_LOG)  # they tell of all tables
        answer = site.stored.read("checks", settings=site.pipeline.settings)
    except PenstockError as refused:
        answer = {"error": refused.to_json()}
    for check in answer.get("checks", ()):
        groups.setdefault(check["group"], []).append(check)
    page = Page("findings.html", context={"answer": answer, "groups": groups})
    return site.answer(page, snapshot)
