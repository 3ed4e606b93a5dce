"""Each stored table is still declared by the pipeline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.errors import DefinitionError
from penstock.observe.problems import Severity


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields DATASET_NOT_DECLARED for each one that was not at the newest update, and is still there."""
    stored = {str(table.identifier).casefold(): table.uri for table in facts.tables}
    for name in facts.undeclared:
        where = stored.get(name.casefold())
        if where is not None:
            word = shlex.quote(name)
            error = DefinitionError("DATASET_NOT_DECLARED", dataset=name, name=name, word=word)
            yield Finding(Severity.WARNING, error, where=where, commands=(f"penstock drop {word}",))
