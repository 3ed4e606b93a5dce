"""The rules by which a pipeline is watched, one file each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

from penstock.alerts.finding import Finding
from penstock.config import AlertSettings
from penstock.events import Event
from penstock.events.flows.facts import FlowFact


class Rule(Protocol):
    """Follows the event log for one kind of trouble. Not thread-safe.

    It is built with the settings. What it finds follows from the events and the time alone, so that a process that
    reads the log goes on where another one has died.
    """

    def __init__(self, settings: AlertSettings) -> None: ...

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account, in the order of the log; `fact` is what `FlowFacts` made of it."""
        ...

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds at `now` of all that the settings ask for, whether it is well or not."""
        ...


def all_rules() -> tuple[type[Rule], ...]:
    """Returns the rules in the order in which their alerts are sent."""
    from penstock.alerts.rules.accounting import Accounting
    from penstock.alerts.rules.cluster import Cluster
    from penstock.alerts.rules.expectations import Expectations
    from penstock.alerts.rules.failed import Failed
    from penstock.alerts.rules.falling_behind import FallingBehind
    from penstock.alerts.rules.freshness import Freshness
    from penstock.alerts.rules.no_input import NoInput
    from penstock.alerts.rules.watermark_stalled import WatermarkStalled

    return Failed, Cluster, Accounting, Freshness, NoInput, FallingBehind, Expectations, WatermarkStalled
