"""Registration while a pipeline runs: beside the flows, and never in their way."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from typing import Final, Self

from penstock.config import PipelineConfig
from penstock.errors import PenstockError, first_line
from penstock.events import Event, EventLog, EventType, Level, UpdateState, builders
from penstock.events.background import BackgroundThread
from penstock.events.flows.facts import details_of
from penstock.graph.elements import STORED_TYPES
from penstock.graph.identifier import Identifier
from penstock.observe.stored.tables import list_tables
from penstock.registration.catalog import Action, Catalog, Change, Session
from penstock.registration.catalogs import catalogs_of
from penstock.registration.entry import not_reachable
from penstock.registration.names import name_clashes
from penstock.registration.table import Owner, read_registration

CLOSE_SECONDS: Final = 10.0
REVIEW_SECONDS: Final = 600.0
_CHECKED_AFTER: Final = {"RUNNING", "COMPLETED", "FAILED", "STOPPED"}


class Registration:
    """Follows the events of one run and registers its tables in each catalog of the pipeline file.

    A context manager, entered when the log is open. Each catalog has a thread. It looks at a table when the tables are
    set up, when a flow into it starts or ends, which is when columns can be new, and every `review` seconds; what
    fails is tried again with a growing pause, unless it is a refusal. Whatever fails is a warning in the event log, and
    ends nothing. The end of the run waits `close_seconds`, not longer.
    """

    def __init__(
        self,
        config: PipelineConfig,
        log: EventLog,
        *,
        review: float = REVIEW_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self._log = log
        self._close_seconds = close_seconds
        self._registrars = tuple(_Registrar(catalog, config, log, review) for catalog in catalogs_of(config))

    def __enter__(self) -> Self:
        for registrar in self._registrars:
            registrar.start()
        self._unsubscribe = self._log.subscribe(self._apply)
        return self

    def __exit__(self, *_: object) -> None:
        """Registers what is left, for a few seconds; the log is still open."""
        self._unsubscribe()
        deadline = time.monotonic() + self._close_seconds
        for registrar in self._registrars:
            registrar.end()
        for registrar in self._registrars:
            registrar.wait(deadline - time.monotonic())

    def _apply(self, event: Event) -> None:
        """Called under the log's lock: notes what there is to do, and does nothing of it."""
        details = details_of(event)
        match event.event_type:
            case EventType.DATASET_DEFINITION if details.get("dataset_type") in STORED_TYPES and details.get("path"):
                identifier = Identifier.recorded(str(details["dataset"]))
                for registrar in self._registrars:
                    registrar.declare(identifier, str(details["path"]))
            case EventType.UPDATE_PROGRESS if details.get("state") == UpdateState.RUNNING.value:
                for registrar in self._registrars:
                    registrar.tables_set_up()
            case EventType.FLOW_PROGRESS if details.get("status") in _CHECKED_AFTER and event.origin.dataset_name:
                for registrar in self._registrars:
                    registrar.check(Identifier.recorded(event.origin.dataset_name))


class _Registrar:
    """One catalog with its thread."""

    def __init__(self, catalog: Catalog, config: PipelineConfig, log: EventLog, review: float) -> None:
        self._catalog = catalog
        self._config = config
        self._owner = Owner(config.name, config.storage)
        self._log = log
        self._review = review
        self._declared: dict[Identifier, str] = {}
        self._due: dict[Identifier, None] = {}
        self._set_up = False
        self._ending = False
        self._changed = threading.Condition()
        self._reported: dict[Identifier | None, str] = {}
        self._thread = BackgroundThread(self._work, f"registration in {catalog.name}", log)

    def start(self) -> None:
        self._thread.start()

    def declare(self, identifier: Identifier, location: str) -> None:
        with self._changed:
            self._declared[identifier] = location

    def tables_set_up(self) -> None:
        """All tables that are there are to be registered, and those that are no longer declared marked."""
        with self._changed:
            self._set_up = True
            self._all_due()

    def check(self, identifier: Identifier) -> None:
        with self._changed:
            if self._set_up and identifier in self._declared:
                self._due[identifier] = None
                self._changed.notify()

    def end(self) -> None:
        """Has the thread end once nothing is left, or the catalog is away."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    def wait(self, seconds: float) -> None:
        """Waits so long for what is left; what is not done then, the next run does."""
        self._thread.join(max(seconds, 0))
        if self._thread.is_alive() and None not in self._reported:
            late = TimeoutError("it has not answered by the end of the run")
            self._failed(None, not_reachable(self._catalog.name, self._catalog.uri, late))

    def _all_due(self) -> None:
        self._due |= dict.fromkeys(self._declared)
        self._changed.notify()

    def _work(self) -> None:
        first, longest = self._config.retries.first_delay, self._config.retries.longest_delay
        pause, undeclared_marked = 0.0, False
        while True:
            with self._changed:
                if pause:
                    self._changed.wait_for(lambda: self._ending, timeout=pause)
                elif not self._changed.wait_for(lambda: self._due or self._ending, timeout=self._review):
                    self._all_due()
                due, declared, ending = list(self._due), dict(self._declared), self._ending
                to_mark = self._set_up and not undeclared_marked
            try:
                settled = True
                if due or to_mark:
                    with self._catalog.connect() as session:
                        settled = self._register(session, due, declared)
                        if to_mark:
                            self._deactivate(session, declared)
                            undeclared_marked = True
                        self._reported.pop(None, None)
            except PenstockError as away:
                self._failed(None, away)
                settled = False
            pause = 0.0 if settled else min(pause * 2 or first, longest)
            with self._changed:
                if ending and (pause or not self._due):
                    return

    def _register(self, session: Session, due: list[Identifier], declared: Mapping[Identifier, str]) -> bool:
        """Returns whether nothing has failed that may pass soon; such a table is due again."""
        settled = True
        clashes = name_clashes(self._catalog, declared)
        for identifier in due:
            with self._changed:
                self._due.pop(identifier, None)
            if identifier in clashes:
                self._failed(identifier, clashes[identifier])
                continue
            try:
                table = read_registration(identifier, declared[identifier], self._owner)
                if table is not None:
                    change = session.register(table)
                else:  # one that readers were to find, once, may be private by now
                    change = Change(Action.REMOVED) if session.remove(identifier, self._owner) else None
            except PenstockError as error:
                self._failed(identifier, error)
                if error.retryable:
                    settled = False
                    self._again(identifier)
            except BaseException:  # the connection has ended
                self._again(identifier)
                raise
            else:
                self._reported.pop(identifier, None)
                self._done(identifier, change)
        return settled

    def _again(self, identifier: Identifier) -> None:
        with self._changed:
            self._due[identifier] = None

    def _deactivate(self, session: Session, declared: Mapping[Identifier, str]) -> None:
        for stored in list_tables(self._config.storage):
            if stored.identifier not in declared:
                with contextlib.suppress(PenstockError):
                    self._done(stored.identifier, session.deactivate(stored.identifier, self._owner))

    def _done(self, identifier: Identifier, change: Change | None) -> None:
        if change is not None:
            built = builders.table_registration(
                str(identifier),
                catalog=self._catalog.name,
                registered_as=self._catalog.name_of(identifier),
                action=change.action.value,
                differences=change.differences,
            )
            self._append(built, identifier, Level.INFO, None)

    def _failed(self, identifier: Identifier | None, error: PenstockError) -> None:
        """Reports an error once, until it is another one or has passed."""
        if self._reported.get(identifier) == error.message:
            return
        self._reported[identifier] = error.message
        error.redact(self._config.redact)
        built = builders.table_registration(
            str(identifier or ""),
            catalog=self._catalog.name,
            registered_as=None if identifier is None else self._catalog.name_of(identifier),
            action="FAILED",
            reason=first_line(error),
        )
        self._append(built, identifier, Level.WARN, error)

    def _append(
        self, built: builders.Built, identifier: Identifier | None, level: Level, error: PenstockError | None
    ) -> None:
        with contextlib.suppress(ValueError, PenstockError):  # the run is over, or its disk is full
            name = None if identifier is None else str(identifier)
            self._log.append(EventType.TABLE_REGISTRATION, *built, level=level, dataset=name, error=error)
