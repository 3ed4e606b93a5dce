"""Which alerts begin and which are over: each is sent once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from penstock.alerts.finding import Finding
from penstock.events.alerts import Alert


def changes(
    findings: Iterable[Finding], firing: Iterable[Alert], *, now: datetime, keep_firing_for: timedelta
) -> Iterator[Alert]:
    """Yields the alerts to be sent at `now`, given those that fire.

    What is wrong fires at once. It is resolved when it has been well for `keep_firing_for`, so that something which
    comes and goes is one alert; and when it is not watched any more: its table, or its entry in the pipeline file, is
    gone.
    """
    found = {finding.key: finding for finding in findings}
    fired = {alert.key: alert for alert in firing}
    for key, finding in found.items():
        if finding.error is not None and key not in fired:
            yield Alert(finding.rule, finding.dataset, finding.subject, finding.error, finding.since, fired=now)
    for key, alert in fired.items():
        current = found.get(key)
        if current is None or (current.error is None and now - current.since >= keep_firing_for):
            yield replace(alert, resolved=now)
