"""The schemas that messages were written with, each asked for once in a process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from penstock.connectors.schema_registry.client import RegisteredSchema, SchemaRegistry
from penstock.connectors.schema_registry.wire_format import Undecodable

W = TypeVar("W")

_UNKNOWN_SECONDS: Final = 60.0
"""For how long an id that the registry does not have is not asked for again."""


@dataclass(slots=True)
class Writers(Generic[W]):
    """What `prepare` makes of the schema of an id; it raises Undecodable for one whose messages cannot be read.

    `kind` is what the registry calls the format, `form` in which the schema is asked for.
    """

    registry: SchemaRegistry
    kind: str
    prepare: Callable[[RegisteredSchema], W]
    form: str = ""
    _known: dict[int, W | Undecodable] = field(default_factory=dict)
    _missing: dict[int, float] = field(default_factory=dict)

    def of(self, number: int) -> W:
        """Returns what there is for the messages of an id.

        Raises:
            Undecodable: no such schema, or none that its messages can be read with.
            SourceFailure: those of the registry.
        """
        found = self._known.get(number)
        if found is None:
            found = self._fetch(number)
        if isinstance(found, Undecodable):
            raise found
        return found

    def _fetch(self, number: int) -> W | Undecodable:
        if time.monotonic() < self._missing.get(number, 0.0):
            return Undecodable(f"the registry has no schema {number}")
        schema = self.registry.by_id(number, form=self.form)
        if schema is None:
            self._missing[number] = time.monotonic() + _UNKNOWN_SECONDS
            return Undecodable(f"the registry has no schema {number}")
        self._known[number] = made = self._made(number, schema)
        return made

    def _made(self, number: int, schema: RegisteredSchema) -> W | Undecodable:
        if schema.kind != self.kind:
            return Undecodable(f"the schema {number} is of {schema.kind}, not of {self.kind}")
        try:
            return self.prepare(schema)
        except Undecodable as error:
            return Undecodable(f"the schema {number}: {error}")
