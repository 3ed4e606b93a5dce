"""The places of findings in notebooks: a file's path, and a cell in it."""

from __future__ import annotations

import re
from typing import Final

from penstock.care.finding import Place
from penstock.errors import SourceLocation

_CELL: Final = re.compile(r"(?P<path>.*\.ipynb), cell (?P<cell>\d+)", re.DOTALL)


def in_cell(path: str, cell: int, line: int, column: int | None) -> SourceLocation:
    """Returns a place in a notebook in JSON, as a person finds it; `line` is counted in the cell."""
    return SourceLocation(f"{path}, cell {cell}", line, column)


def cell_of(place: Place) -> tuple[str, int] | None:
    """Returns file and cell of a place in a notebook in JSON; None for one in a file of lines."""
    found = _CELL.fullmatch(place.path)
    return None if found is None else (found["path"], int(found["cell"]))
