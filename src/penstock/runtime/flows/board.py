"""What the flows of one update know of each other: which tables have new rows, which are done."""

from __future__ import annotations

import threading

from penstock.errors import PenstockError
from penstock.events import FlowStatus
from penstock.graph.identifier import Identifier


class TableProgress:
    """How far the flows into one table are in this update. Thread-safe."""

    def __init__(self, flows: int) -> None:
        self.first_batch = threading.Event()
        """Set after the first batch of this update, and at the end even without one."""
        self.ended = threading.Event()
        """Set when no flow will write to the table any more."""
        self._lock = threading.Lock()
        self._running = flows
        self.commits = 0
        """How many batches were committed in this update."""
        self.failed = False
        """Whether a flow into the table did not complete."""
        if flows == 0:
            self.first_batch.set()
            self.ended.set()

    def committed(self) -> None:
        """A flow has committed a batch."""
        with self._lock:
            self.commits += 1
        self.first_batch.set()

    def flow_ended(self, status: FlowStatus) -> None:
        """A flow has ended for good."""
        with self._lock:
            self._running -= 1
            self.failed = self.failed or status is not FlowStatus.COMPLETED
            done = self._running == 0
        if done:
            self.ended.set()
            self.first_batch.set()


class UpdateBoard:
    """The tables of one update by name, and the errors of their flows."""

    def __init__(self, flows_per_table: dict[Identifier, int]) -> None:
        self._tables = {identifier: TableProgress(flows) for identifier, flows in flows_per_table.items()}
        self._lock = threading.Lock()
        self._errors: list[PenstockError] = []
        self._unbalanced: set[tuple[str | None, str]] = set()

    @property
    def errors(self) -> tuple[PenstockError, ...]:
        """The errors that ended flows, and of flows whose rows do not add up, in the order of time."""
        with self._lock:
            return tuple(self._errors)

    def table(self, identifier: Identifier) -> TableProgress:
        """Returns the progress of a table; one that this update does not run counts as done."""
        return self._tables.setdefault(identifier, TableProgress(0))

    def failed(self, error: PenstockError) -> None:
        """A flow has failed for good."""
        with self._lock:
            self._errors.append(error)

    def does_not_add_up(self, error: PenstockError) -> None:
        """The rows of a flow's batch do not add up; of each flow the first error stands for all."""
        with self._lock:
            flow = (error.dataset, error.facts["flow"])
            if flow not in self._unbalanced:
                self._unbalanced.add(flow)
                self._errors.append(error)
