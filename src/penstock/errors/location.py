"""Where a declaration stands in the user's files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """A place in a user's file: `path` as the user would type it, `line` and `column` counted from 1.

    Python declarations have no column: a line says enough there.
    """

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)


@dataclass(frozen=True, slots=True, order=True)
class StatementPosition:
    """A place in a SQL statement, as its author wrote it: `line` and `column` counted from 1."""

    line: int
    column: int

    @classmethod
    def of(cls, statement: str, offset: int) -> StatementPosition:
        """Returns the place of the character at `offset`."""
        before = statement[:offset]
        return cls(before.count("\n") + 1, offset - before.rfind("\n"))

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column} of the statement"
