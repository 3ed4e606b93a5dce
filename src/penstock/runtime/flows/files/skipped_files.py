"""Warns of each file that a flow has left out because its source has `ignoreCorruptFiles` or `ignoreMissingFiles`."""

from __future__ import annotations

from penstock.events import FlowStatus, Level
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.flows.services import FlowQuery, FlowServices
from penstock.spark.sources.skipped_files import skipped_files


class SkippedFiles:
    """Of one flow; used by its thread alone."""

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
                    self._warn(uri, f"it {'was gone' if gone else 'is corrupt'} and its source has {option}")

    def _warn(self, uri: str, why: str) -> None:
        warn_of_skipped(uri, why, self._flow, self._services)


def warn_of_skipped(uri: str, why: str, flow: ResolvedFlow, services: FlowServices) -> None:
    """Says in the event log that a flow has left a file out, and how its rows come."""
    reason = f"has left out {uri}, or the rest of it, because {why}: "
    reason += "these rows are not in the table; the file, written again under another name, brings them"
    services.reporter.flow(flow, FlowStatus.RUNNING, reason=reason, level=Level.WARN)
