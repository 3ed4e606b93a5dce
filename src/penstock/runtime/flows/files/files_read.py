"""The files that a streaming flow has read, or not yet: checked again, and cleaned up where that is asked for."""

from __future__ import annotations

from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.flows.files.skipped_files import SkippedFiles
from penstock.runtime.flows.files.source_cleaning import SourceCleaning
from penstock.runtime.flows.files.unfinished_files import UnfinishedFiles
from penstock.runtime.flows.files.unsettled_files import UnsettledFiles
from penstock.runtime.flows.services import FlowQuery, FlowServices


class FilesRead:
    """Of one flow; used by its thread alone."""

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
