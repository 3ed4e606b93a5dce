"""Each stored table can be opened."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from penstock.errors import PenstockError, StateError, first_line
from penstock.observe.doctor.facts import StorageFacts
from penstock.observe.doctor.finding import Finding
from penstock.observe.problems import Severity
from penstock.storage.delta_table import open_delta_table

_CONDITION = "TABLE_NOT_READABLE"


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields TABLE_NOT_READABLE, or what a store refuses; not again for a table whose checkpoint told it."""
    from deltalake.exceptions import DeltaError

    told = {error.dataset for error in facts.verification.findings if error.condition == _CONDITION}
    for table in facts.tables:
        name = str(table.identifier)
        if name in told:
            continue
        try:
            open_delta_table(table.uri)
            continue
        except PenstockError as refused:
            error = refused
        except (DeltaError, OSError, ValueError) as damage:
            error = StateError(_CONDITION, dataset=name, name=name, reason=first_line(damage))
        yield Finding(Severity.ERROR, error, where=table.uri, commands=(f"penstock show {shlex.quote(name)}",))
