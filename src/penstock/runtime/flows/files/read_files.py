"""The files that a flow has read, or has not: skipped, unfinished and unsettled ones are reported."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final

from penstock.errors import PenstockError
from penstock.events import FlowStatus, Level
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.flows.files.source_cleaning import SourceCleaning
from penstock.runtime.flows.services import FlowQuery, FlowServices
from penstock.spark.sources.file_reports import skipped_files, unsettled_files
from penstock.storage.checkpoint.committed_files import committed_steps, files_changed_after
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion


class SkippedFiles:
    """Warns of what `ignoreCorruptFiles` or `ignoreMissingFiles` has left out; used by one thread."""

    def __init__(self, flow: ResolvedFlow, services: FlowServices) -> None:
        self._flow = flow
        self._services = services
        self._reported: set[str] = set()

    def look(self, built: FlowQuery) -> None:
        """Warns of what was left out since the last call."""
        for gone, option in ((False, "ignoreCorruptFiles"), (True, "ignoreMissingFiles")):
            sources = [source for source in built.auto_loader_sources if option in source.options.skipping]
            for uri in skipped_files(self._services.spark, gone=gone) if sources else ():
                if uri not in self._reported and any(source.reads(uri) for source in sources):
                    self._reported.add(uri)
                    why = f"it {'was gone' if gone else 'is corrupt'} and its source has {option}"
                    warn_of_skipped(uri, why, self._flow, self._services)


def warn_of_skipped(uri: str, why: str, flow: ResolvedFlow, services: FlowServices) -> None:
    """Says in the event log that a flow has left a file out, and how its rows come."""
    reason = f"has left out {uri}, or the rest of it, because {why}: "
    reason += "these rows are not in the table; the file, written again under another name, brings them"
    services.reporter.flow(flow, FlowStatus.RUNNING, reason=reason, level=Level.WARN)


_PAUSE_SECONDS: Final = 60.0
_ADVICE: Final = "write files under a name that begins with '.' or '_', and rename them when they are whole"


class UnfinishedFiles:
    """Warns of files that one flow has read while something was still writing them; used by its thread alone.

    Each file is checked twice: when its batch is done, and a minute later or at the next start.
    """

    def __init__(self, flow: ResolvedFlow, services: FlowServices, checkpoint: str) -> None:
        self._flow = flow
        self._services = services
        self._checkpoint = checkpoint
        self._reported: set[str] = set()
        self._looked = 0.0
        self._since: list[Mapping[str, int]] = [{}, {}]
        self._overwritable: Collection[str] = ()

    def start(self, overwritable: Collection[str]) -> None:
        """Looks at what the last batch before this start has read; the sources `overwritable` read a file again."""
        self._overwritable = overwritable
        with suppress(PenstockError):
            before_last: Mapping[str, int] = next(islice(committed_steps(self._checkpoint), 1, None), {})
            self._since = [before_last, before_last]
        self.look()

    def after_batches(self) -> None:
        """Looks from time to time while the query runs."""
        if time.monotonic() - self._looked > _PAUSE_SECONDS:
            self.look()

    def look(self) -> None:
        """Looks at what was committed since the last look but one; warns of each file once."""
        self._looked = time.monotonic()
        # What is wrong with a checkpoint is said elsewhere.
        with suppress(DamagedFile, UnknownVersion, OSError, PenstockError):
            now = next(committed_steps(self._checkpoint), {})
            since = self._since[0]
            self._since = [self._since[1], now]
            for source in now.keys() - self._overwritable:
                for path in files_changed_after(self._checkpoint, source, since.get(source, -1) + 1, now[source]):
                    if path not in self._reported:
                        self._reported.add(path)
                        self._warn(path)

    def _warn(self, path: str) -> None:
        reason = f"has read {path} before it was whole: what was written to it later is not read; {_ADVICE}"
        self._services.reporter.flow(self._flow, FlowStatus.RUNNING, reason=reason, level=Level.WARN)


_MOST_NAMED: Final = 3


class UnsettledFiles:
    """Warns of files that one flow has not read because something writes them; used by its thread alone."""

    def __init__(self, flow: ResolvedFlow, services: FlowServices, checkpoint: str) -> None:
        self._flow = flow
        self._services = services
        self._checkpoint = checkpoint
        self._looked = time.monotonic()
        self._before: set[str] = set()
        self._reported: set[str] = set()

    def between_batches(self) -> None:
        """Looks from time to time while the query runs; warns of each file that is held back at two looks, once."""
        if time.monotonic() - self._looked < _PAUSE_SECONDS:
            return
        self._looked = time.monotonic()
        held = set(self._held())
        self._warn("waits for", held & self._before - self._reported)
        self._before = held

    def after_end(self) -> None:
        """Warns of the files that the query has ended without."""
        self._warn("leaves to its next run", set(self._held()))

    def _held(self) -> list[str]:
        return unsettled_files(self._services.spark, self._checkpoint)

    def _warn(self, what: str, files: set[str]) -> None:
        if not files:
            return
        self._reported |= files
        named = ", ".join(sorted(files)[:_MOST_NAMED])
        more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
        reason = f"{what} {named}{more}: still being written (cloudFiles.settleTime)"
        self._services.reporter.flow(self._flow, FlowStatus.RUNNING, reason=reason, level=Level.WARN)


class FilesRead:
    """All of that for one flow, and the cleaning of its sources; used by its thread alone."""

    def __init__(self, flow: ResolvedFlow, services: FlowServices, checkpoint: str) -> None:
        self._unfinished = UnfinishedFiles(flow, services, checkpoint)
        self._cleaning = SourceCleaning(flow, services, checkpoint)
        self._skipped = SkippedFiles(flow, services)
        self._unsettled = UnsettledFiles(flow, services, checkpoint)

    def before_start(self, built: FlowQuery) -> None:
        """Called before each start of the query."""
        self._unfinished.start(built.overwritable_sources)

    def between_batches(self, built: FlowQuery, batches: int) -> None:
        """Called again and again while the query runs; `batches` have ended."""
        self._unfinished.after_batches()
        self._cleaning.after_batches(built, batches)
        self._skipped.look(built)
        if built.auto_loader_sources:
            self._unsettled.between_batches()

    def after_end(self, built: FlowQuery) -> None:
        """Called when the query has read all that there was."""
        self._unfinished.look()
        self._skipped.look(built)
        if built.auto_loader_sources:
            self._unsettled.after_end()
        self._cleaning.clean(built)
        self._cleaning.report()

    def after_stop(self) -> None:
        """Called when the query was asked to stop."""
        self._cleaning.report()
