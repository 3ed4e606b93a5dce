"""Which flows a user means by a name."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import DefinitionError
from penstock.graph.identifier import Identifier


def flows_called(
    name: str, flows: Iterable[tuple[Identifier, str]], *, default_schema: str
) -> list[tuple[Identifier, str]]:
    """Returns those of the `flows`, each its target and its own name, that are meant by `name`, in any case.

    `target/flow` is one flow. Else the name is that of a target, and where there is none of a flow: a flow is called
    like its table by default, so that flows into tables of other schemas and catalogs may have the same name.
    """
    given = list(flows)
    before, slash, after = name.rpartition("/")
    target: Identifier | None = None
    try:
        target = Identifier.parse(before if slash else name, default_schema=default_schema)
    except DefinitionError:
        if slash:
            return []
    into = [each for each in given if each[0] == target]
    if slash:
        return [each for each in into if each[1].casefold() == after.casefold()]
    return into or [each for each in given if each[1].casefold() == name.casefold()]
