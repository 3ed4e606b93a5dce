"""What a rule may ask about the script whose query starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.events.flows.records import FlowRecord
from penstock.runtime.script.stream_write import StreamWrite
from penstock.storage import StorageLayout


class Starting(Protocol):
    """The script's run, as the rules see it."""

    @property
    def spark(self) -> SparkSession:
        """The script's session."""

    @property
    def layout(self) -> StorageLayout:
        """The script's storage."""

    def earlier(self) -> Sequence[tuple[StreamWrite, bool]]:
        """Returns the queries that this run has started so far, and whether each still runs."""

    def record(self, write: StreamWrite) -> FlowRecord:
        """Returns what the event log knows of earlier runs of this query; it is read for that."""

    def notice(self, notice: PenstockError) -> None:
        """Reports something that does not keep the query from starting; the same thing only once a run."""
