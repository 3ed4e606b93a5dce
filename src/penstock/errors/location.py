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
