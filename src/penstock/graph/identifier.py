"""Names of datasets: one to three parts, compared without regard to case."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import DefinitionError

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A dataset's full name inside a storage: `schema.name`, as the user spelt it.

    Equality and hash ignore case, as Spark's resolution does. The catalog part of a three-part
    name is dropped when it is parsed: a storage holds one catalog.
    """

    schema: str
    name: str

    @classmethod
    def parse(cls, text: str, *, default_schema: str) -> Identifier:
        """Reads `name`, `schema.name` or `catalog.schema.name`, parts optionally in backquotes.

        A leading `LIVE.` (legacy DLT) means the default schema.

        Raises:
            DefinitionError: INVALID_DATASET_NAME for an empty part or more than three parts.
        """
        parts = split_name(text)
        if len(parts) == 2 and parts[0].casefold() == "live":
            parts = parts[1:]
        if len(parts) == 1:
            return cls(default_schema, parts[0])
        return cls(parts[-2], parts[-1])

    @property
    def key(self) -> tuple[str, str]:
        """What equality compares."""
        return self.schema.casefold(), self.name.casefold()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identifier) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Identifier) -> bool:
        return self.key < other.key

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


def split_name(text: str) -> list[str]:
    """Splits a dotted name into its parts, honouring backquotes.

    Raises:
        DefinitionError: INVALID_DATASET_NAME.
    """
    parts: list[str] = []
    rest = text.strip()
    while True:
        match = _PART.match(rest)
        if match is None or len(parts) == 3:
            raise DefinitionError("INVALID_DATASET_NAME", name=text)
        parts.append(match.group(1).replace("``", "`") if match.group(1) else match.group(2).strip())
        rest = rest[match.end() :]
        if not rest:
            break
        if not rest.startswith("."):
            raise DefinitionError("INVALID_DATASET_NAME", name=text)
        rest = rest[1:]
    if not all(parts):
        raise DefinitionError("INVALID_DATASET_NAME", name=text)
    return parts
