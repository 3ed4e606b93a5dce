"""Names of datasets: one to three parts, compared without regard to case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from penstock.errors import DefinitionError
from penstock.graph.sql.names import quoted

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


class DefaultSchema(str):
    """The schema of names without one; its `catalog` is the pipeline's own, which names may leave out."""

    __slots__ = ("catalog",)
    catalog: str | None

    def __new__(cls, schema: str, catalog: str | None = None) -> DefaultSchema:
        """Returns `schema` with the catalog that it is in."""
        made = super().__new__(cls, schema)
        made.catalog = catalog
        return made

    def using(self, schema: str | None, catalog: str | None = None) -> DefaultSchema:
        """Returns what USE makes of it, None changes nothing; another catalog begins with its schema `default`."""
        another = None not in (catalog, self.catalog) and str(catalog).casefold() != str(self.catalog).casefold()
        return DefaultSchema(schema or ("default" if another else self), self.catalog)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A dataset's full name as the user spelt it: `schema.name`, or `catalog.schema.name` in another catalog.

    Equality and hash ignore case, as Spark's resolution does. `catalog` is None for the pipeline's own.
    """

    schema: str
    name: str
    catalog: str | None = None

    @classmethod
    def parse(cls, text: str, *, default_schema: str, catalog: str | None = None) -> Identifier:
        """Reads `name`, `schema.name` or `catalog.schema.name`, parts optionally in backquotes.

        A leading `LIVE.` (legacy DLT) means the default schema.

        Args:
            text: The name.
            default_schema: A `DefaultSchema` also says which catalog is the pipeline's own; of a str none is.
            catalog: That of names without one (USE CATALOG); None means the pipeline's own.

        Raises:
            DefinitionError: INVALID_DATASET_NAME for an empty part or more than three parts.
        """
        parts = split_name(text)
        own = default_schema.catalog if isinstance(default_schema, DefaultSchema) else None
        if len(parts) == 2 and parts[0].casefold() == "live":
            return cls(str(default_schema), parts[1])
        if len(parts) == 3:
            catalog = parts[0]
        schema = parts[-2] if len(parts) > 1 else str(default_schema)
        return cls(schema, parts[-1], catalog).within(own)

    @classmethod
    def recorded(cls, text: str) -> Identifier:
        """Reads what `str` makes of an identifier, as the event log has it: three parts begin with a catalog."""
        if "`" in text:
            with suppress(DefinitionError):
                return cls._of_parts(split_name(text))
        parts = text.split(".")
        return cls._of_parts(parts if len(parts) == 3 else text.split(".", 1))

    @classmethod
    def _of_parts(cls, parts: Sequence[str]) -> Identifier:
        catalog, schema, name = ["", "", *parts][-3:]
        return cls(schema, name, catalog or None)

    def within(self, catalog: str | None) -> Identifier:
        """Returns this name as a pipeline of that catalog knows it: without the catalog if it is the same."""
        if self.catalog is None or catalog is None or self.catalog.casefold() != catalog.casefold():
            return self
        return Identifier(self.schema, self.name)

    @property
    def sql(self) -> str:
        """The name with each part in backquotes, which `parse` reads as the same name."""
        return ".".join(quoted(part) for part in (self.catalog, self.schema, self.name) if part is not None)

    @property
    def key(self) -> tuple[str, str, str]:
        """What equality compares."""
        return (self.catalog or "").casefold(), self.schema.casefold(), self.name.casefold()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identifier) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Identifier) -> bool:
        return self.key < other.key

    @property
    def dotted(self) -> str:
        """The parts with dots between them and nothing quoted, as ids of transactions and checkpoints have it."""
        return ".".join(part for part in (self.catalog, self.schema, self.name) if part is not None)

    def __str__(self) -> str:
        parts = [part for part in (self.catalog, self.schema, self.name) if part is not None]
        return ".".join(quoted(part) if set(part) & set(".`") or part != part.strip() else part for part in parts)


def recorded_name(text: str, catalog: str | None) -> str:
    """Returns how the event log of a pipeline of that catalog spells the name of a table; a bare one stays bare."""
    with suppress(DefinitionError):  # what is no name is that of no table
        found = Identifier.parse(text, default_schema=DefaultSchema("", catalog))
        return str(found) if found.schema else text
    return text


def names_of_recorded(dataset: str) -> tuple[str, ...]:
    """Returns by which names a user means a dataset of the event log, in lower case.

    Those are its full name and, of one in the pipeline's own catalog, the bare name.
    """
    name = dataset.casefold()
    return (name, name.rpartition(".")[2]) if Identifier.recorded(dataset).catalog is None else (name,)


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
