"""What all pages share: the log, one rendering of each page for all its viewers, and the words for what is missing."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from penstock.access.grants import Access
from penstock.access.store import access_of
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog, Snapshot
from penstock.dashboard.rendering import dataset_path, render
from penstock.dashboard.stored_tables import StoredTables
from penstock.errors import PenstockError, StateError, did_you_mean
from penstock.events.log.audit import Actor
from penstock.graph.identifier import Identifier, names_of_recorded

_CACHED_BYTES: Final = 8 << 20
_CACHED_PAGES: Final = 200
_COMPRESSION: Final = 4
"""Of a page of a thousand datasets a thirtieth is left, in 5 ms."""

_VARYING: Final = {"Vary": "Accept-Encoding"}
_MANY: Final = 150
"""From so many datasets on a page is fetched again at most every two seconds: it is big."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows: a template and its values; `here` is its entry in the navigation."""

    template: str
    here: str = ""
    status: int = 200
    context: Mapping[str, Any] = field(default_factory=dict)


PageMaker = Callable[["Site", Snapshot, Request], Page]


class Site:
    """The dashboard of one storage.

    Attributes:
        log: the event log.
        stored: the rows of its tables, read beside this process.
        actions: whether the pages offer what changes something.
        pipeline: what is known of it besides the storage.
        narrowed: whether it is without the tables that its viewers may not read; pages say so.
    """

    def __init__(
        self,
        log: LiveLog,
        pipeline: KnownPipeline,
        *,
        actions: bool = False,
        login: str = "none",
        user_of: Callable[[Headers], str | None] = lambda _: None,
        stored: StoredTables | None = None,
        narrowed: bool = False,
    ) -> None:
        self.log = log
        self.stored = stored or StoredTables(log.storage)
        self.narrowed = narrowed
        self.actions = actions
        self.pipeline = pipeline
        self._login = login
        self._user_of = user_of
        self._rendering = threading.Lock()
        self._version = ""
        self._pages: dict[tuple[str, str], tuple[bytes, int]] = {}

    def narrowed_to(self, log: LiveLog) -> Site:
        """Returns the same dashboard over what other viewers see of the log."""
        return Site(
            log,
            self.pipeline,
            actions=self.actions,
            login=self._login,
            user_of=self._user_of,
            stored=self.stored,
            narrowed=True,
        )

    def viewer(self, request: Request) -> Actor:
        """Returns who asks, as far as it is known, and from where."""
        return Actor(
            self._user_of(request.headers), "dashboard", None if request.client is None else request.client.host
        )

    def access(self) -> Access:
        """Returns who may read what, as of now.

        Raises:
            StateError: GRANTS_DAMAGED.
            ConfigError, ExternalError: the storage cannot be read.
        """
        return access_of(self.log.storage, self.pipeline.access)

    def check(self, request: Request, table: Identifier) -> None:
        """Raises unless the viewer may read a table's rows; a refusal is recorded.

        Raises:
            StateError: INSUFFICIENT_PERMISSIONS, GRANTS_DAMAGED.
            ConfigError, ExternalError: the storage cannot be read.
        """
        access = self.access()
        try:
            access.check(self.viewer(request).user, [table])
        except StateError as refused:
            self.record(request, [str(table)], 0, command="rows", refused=refused.condition)
            raise

    def record(self, request: Request, tables: Sequence[str], rows: int, **details: Any) -> PenstockError | None:
        """Records that a viewer is about to see rows, as `ReadAudit.record`.

        Raises:
            StateError: READ_NOT_RECORDED, where the pipeline requires the record.
        """
        if self.pipeline.audit is None:
            return None
        return self.pipeline.audit.record(tables, rows, {**details, "login": self._login}, by=self.viewer(request))

    def shared(self, make: PageMaker, request: Request) -> Response:
        """Returns a page, made and compressed once for each state of the log, however many ask for it.

        Only pages are compressed. They hold no token; of an answer that does, the length could reveal it (BREACH).
        """
        snapshot = self.log.snapshot()
        key = request.url.path, request.url.query
        with self._rendering:
            if snapshot.version != self._version:
                self._version = snapshot.version
                self._pages.clear()
            if key not in self._pages:
                self._keep(key, *self.render(make(self, snapshot, request), snapshot))
            packed, status = self._pages[key]
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return HTMLResponse(gzip.decompress(packed), status, _VARYING)
        return HTMLResponse(packed, status, {**_VARYING, "Content-Encoding": "gzip"})

    def answer(self, page: Page, snapshot: Snapshot) -> Response:
        """Returns the response of a page that is not shared."""
        html, status = self.render(page, snapshot)
        return HTMLResponse(html, status_code=status)

    def render(self, page: Page, snapshot: Snapshot) -> tuple[bytes, int]:
        """Returns the page's HTML and status."""
        update = snapshot.status.update
        html = render(
            page.template,
            version=snapshot.version,
            pipeline=update.pipeline if update else None,
            storage=self.log.storage,
            skipped=snapshot.skipped,
            problem=snapshot.problem,
            problem_count=len(snapshot.problems),
            read=snapshot.read,
            sums=snapshot.sums,
            running=update is not None and not update.state.terminal,
            pace=2000 if len(snapshot.status.datasets) >= _MANY else 0,
            actions=self.actions,
            narrowed=self.narrowed,
            here=page.here,
            **page.context,
        )
        return html, page.status

    def _keep(self, key: tuple[str, str], html: bytes, status: int) -> None:
        packed = gzip.compress(html, _COMPRESSION)
        size = len(packed) + sum(len(page) for page, _ in self._pages.values())
        if size > _CACHED_BYTES or len(self._pages) >= _CACHED_PAGES:
            self._pages.clear()
        self._pages[key] = packed, status


def missing_page(
    heading: str, explanation: str, *, link: str = "/", words: str = "To the overview", command: str, status: int = 404
) -> Page:
    """Returns the page that says that there is no such thing, where to go, and what to type."""
    context = {
        "heading": heading,
        "explanation": explanation,
        "link": link,
        "link_words": words,
        "command": command,
    }
    return Page("failure.html", status=status, context=context)


def unknown_dataset(snapshot: Snapshot, name: str) -> Page:
    """Returns the page for a name that no dataset has, with the one that was meant."""
    names = [dataset.name for dataset in snapshot.status.datasets]
    by_part = {part: known for known in names for part in names_of_recorded(known)}
    closest = by_part.get(name.casefold()) or _only(did_you_mean(name, names), names)
    return missing_page(
        f"There is no dataset '{name}'",
        "" if closest else "The pipeline's newest update does not define it.",
        link=dataset_path(closest) if closest else "/",
        words=f"Did you mean '{closest}'?" if closest else "To the overview",
        command="penstock graph" if names else "penstock run",
    )


def _only(suggestion: str, names: list[str]) -> str | None:
    """The first name that a "did you mean" sentence mentions."""
    mentioned = [name for name in names if f"'{name}'" in suggestion]
    return min(mentioned, key=lambda name: suggestion.index(f"'{name}'"), default=None)
