"""What a notebook consists of: cells as they are written, and the parts that a cell asks to be done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Language(Enum):
    """The languages of cells that a pipeline runs."""

    PYTHON = "python"
    SQL = "sql"


class PartKind(Enum):
    """What is to be done with a part of a cell.

    The text of RUN is the notebook's path and its parameters, that of INSTALL the whole command, that
    of IGNORED and REFUSED the name of the magic.
    """

    PYTHON = "python"
    SQL = "sql"
    RUN = "run"
    INSTALL = "install"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell.

    `file` is the file's path, with `#cell3` behind it where lines are counted per cell. `text` begins
    at the line `line` of it (from 1) and, when it was a comment there, `margin` characters further right.
    """

    file: str
    line: int
    text: str
    language: Language
    margin: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a cell that belong together; the fields are those of `Cell`."""

    kind: PartKind
    file: str
    line: int
    text: str
    margin: int = 0
