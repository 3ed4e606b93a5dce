"""Each stored table can be opened, and has its data files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.errors import PenstockError, StateError, first_line
from penstock.observe.problems import Severity
from penstock.storage.data_files import missing_data_files
from penstock.storage.delta_table import open_delta_table

_CONDITION = "TABLE_NOT_READABLE"


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields TABLE_NOT_READABLE, DATA_FILES_MISSING, or what a store refuses; not what a checkpoint's finding says."""
    from deltalake.exceptions import DeltaError

    reported = {error.dataset for error in facts.verification.findings if error.condition == _CONDITION}
    for table in facts.tables:
        name = str(table.identifier)
        if name in reported:
            continue
        try:
            missing = missing_data_files(open_delta_table(table.uri), table.uri, name)
            if missing is None:
                continue
            error: PenstockError = missing
        except PenstockError as refused:
            error = refused
        except (DeltaError, OSError, ValueError) as damage:
            error = StateError(_CONDITION, dataset=name, name=name, reason=first_line(damage))
        yield Finding(Severity.ERROR, error, where=table.uri, commands=(f"penstock show {shlex.quote(name)}",))
