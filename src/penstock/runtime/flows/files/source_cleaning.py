"""Source files that a streaming flow has read go where `cloudFiles.cleanSource` says, while it runs and at its end."""

from __future__ import annotations

import time
from collections import Counter

from penstock.errors import PenstockError
from penstock.events import FlowStatus, Level
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.runtime.flows.services import FlowQuery, FlowServices
from penstock.spark.sources.auto_loader import Cleaned, CleanMode

_PAUSE_SECONDS = 60.0  # files also become old enough while nothing arrives


class SourceCleaning:
    """Cleans the sources of one flow; used by its thread alone."""

    def __init__(self, flow: ResolvedFlow, services: FlowServices, checkpoint: str) -> None:
        self._flow = flow
        self._services = services
        self._checkpoint = checkpoint
        self._done: Counter[tuple[CleanMode, str]] = Counter()
        self._batches = -1
        self._called = 0.0
        self._failures: set[str] = set()
        self._shared: set[str] = set()

    def after_batches(self, built: FlowQuery, batches: int) -> None:
        """Cleans when a batch has ended since the last call, which `batches` counts, or time has passed."""
        if self._services.drops_late_rows(self._flow):
            return  # rows behind the watermark are read again after their batch: the files go when the query has ended
        if batches != self._batches or time.monotonic() - self._called > _PAUSE_SECONDS:
            self._batches = batches
            self.clean(built)

    def clean(self, built: FlowQuery) -> None:
        """Cleans what is committed by now; what cannot be done is warned of, once each."""
        self._called = time.monotonic()
        for source in built.auto_loader_sources:
            how = source.options.clean
            if how is None or self._is_shared(source.source_name):
                continue
            try:
                cleaned = source.clean(self._checkpoint, self._services.stop.is_set)
            except PenstockError as error:  # no reason to end the flow: its rows are in the table
                cleaned = Cleaned(failure=str(error))
            self._done[how.mode, source.path] += cleaned.files
            for path in () if source.options.allow_overwrites else cleaned.changed:
                self._warn(f"leaves {path} in its source: it was changed after it was read, and is not read again")
            if cleaned.failure is not None and cleaned.failure not in self._failures:
                self._failures.add(cleaned.failure)
                self._warn(f"cannot clean its source, and tries again later: {cleaned.failure}")

    def _is_shared(self, source_name: str) -> bool:
        """Whether others would miss what is gone: their progress is not known."""
        others = other_readers(self._services.graph, self._flow, source_name)
        if others and source_name not in self._shared:
            self._shared.add(source_name)
            self._warn(f"does not clean its source, because it is also read by {', '.join(others)}")
        return bool(others)

    def report(self) -> None:
        """Says how many files have gone since it was last said."""
        for (mode, path), files in self._done.items():
            if files:
                word = "deleted" if mode is CleanMode.DELETE else "moved"
                self._say(f"has {word} {files} files of {path} that are in the table", Level.INFO)
        self._done.clear()

    def _warn(self, reason: str) -> None:
        self._say(reason, Level.WARN)

    def _say(self, reason: str, level: Level) -> None:
        self._services.reporter.flow(self._flow, FlowStatus.RUNNING, reason=reason, level=level)


def other_readers(graph: ResolvedGraph, flow: ResolvedFlow, source_name: str) -> tuple[str, ...]:
    """Returns the targets of the flows that stream from the path of a flow's source too, perhaps by a view.

    That is the flow itself when it reads the path twice.
    """
    mine = flow.stream.sources.get(source_name) if flow.stream is not None else None
    if mine is None:
        return ()
    found = [
        str(each.declaration.target)
        for each in graph.flows
        for name, read in (each.stream.sources if each.stream is not None else {}).items()
        if _path(read) == _path(mine) and (each is not flow or name != source_name)
    ]
    return tuple(dict.fromkeys(found))


def _path(read: str) -> str:
    """A source is given as its format and its path."""
    return read.partition(" ")[2].rstrip("/")
