"""Source files that a streaming flow has read go where `cloudFiles.cleanSource` says, while it runs and at its end."""

from __future__ import annotations

import time
from collections import Counter

from penstock.errors import PenstockError
from penstock.events import FlowStatus, Level
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.services import FlowQuery, FlowServices
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
            if how is None:
                continue
            try:
                cleaned = source.clean(self._checkpoint, self._services.stop.is_set)
            except PenstockError as error:  # no reason to end the flow: its rows are in the table
                cleaned = Cleaned(failure=str(error))
            self._done[how.mode, source.path] += cleaned.files
            for path in cleaned.changed:
                self._warn(f"leaves {path} in its source: it was changed after it was read, and is not read again")
            if cleaned.failure is not None and cleaned.failure not in self._failures:
                self._failures.add(cleaned.failure)
                self._warn(f"cannot clean its source, and tries again later: {cleaned.failure}")

    def tell(self) -> None:
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
