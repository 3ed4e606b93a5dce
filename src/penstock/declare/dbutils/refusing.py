"""Refuses by name what a part of `dbutils` does not have."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from penstock.errors import DefinitionError


class Refusing:
    """A part of `dbutils` called `name`; `reason` and `alternative` say what about everything else."""

    name: ClassVar[str]
    reason: ClassVar[str] = "pipeline files run outside of a workspace"
    alternative: ClassVar[str] = "Do it before 'penstock run'"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise DefinitionError(
            "UNSUPPORTED_DECLARATION",
            name=f"{self.name}.{name}",
            reason=self.reason,
            alternative=self.alternative,
        )

    def __repr__(self) -> str:
        return self.name
