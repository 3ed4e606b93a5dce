"""Warns of files that were read while something was still writing them: what came later is in no table."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final

from penstock.errors import PenstockError
from penstock.events import FlowStatus, Level
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.flows.services import FlowServices
from penstock.storage.checkpoint import DamagedFile, UnknownVersion, committed_steps, files_changed_after

_PAUSE_SECONDS: Final = 60.0
_ADVICE: Final = "write files under a name that begins with '.' or '_', and rename them when they are whole"


class UnfinishedFiles:
    """Looks at the files that one flow has read; used by its thread alone.

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
