"""Warns of files that a flow has not read because something is still writing them."""

from __future__ import annotations

import time
from typing import Final

from penstock.events import FlowStatus, Level
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.flows.services import FlowServices
from penstock.spark.sources.auto_loader.unsettled_files import unsettled_files

_PAUSE_SECONDS: Final = 60.0
_MOST_NAMED: Final = 3


class UnsettledFiles:
    """Of one flow; used by its thread alone."""

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
