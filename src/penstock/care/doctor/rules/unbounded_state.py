"""The state of each join of two streams is freed some time."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.errors import DefinitionError, SourceLocation
from penstock.observe.problems import Severity


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND with the size of the state, where the flow does not allow it."""
    for dataset in facts.datasets:
        warning = dataset.state_warning
        if warning is not None:
            place = SourceLocation(str(warning["file"]), warning.get("line")) if warning.get("file") else None
            error = DefinitionError(
                str(warning["condition"]), location=place, dataset=dataset.name, **warning.get("facts", {})
            )
            yield Finding(Severity.WARNING, error, commands=(f"penstock state {dataset.name}",))
