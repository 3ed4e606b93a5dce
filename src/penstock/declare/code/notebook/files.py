"""From a pipeline's file to its text, and from a notebook's to its cells."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from penstock.config.files.regular_file import read_regular_file
from penstock.declare.user_frames import shown_path
from penstock.errors import DefinitionError, SourceLocation


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


_LARGEST = 100_000_000  # bytes: a notebook keeps its pictures


def read_source_text(path: Path, root: Path) -> str:
    """Returns the text of a file, decoded as Python decodes its own: UTF-8, unless a Python file says otherwise.

    Raises:
        DefinitionError: PIPELINE_FILE_UNREADABLE.
    """
    place = SourceLocation(shown_path(str(path), root))
    try:
        return importlib.util.decode_source(read_regular_file(path, _LARGEST))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DefinitionError("PIPELINE_FILE_UNREADABLE", location=place, reason=reason) from error
    except (UnicodeDecodeError, SyntaxError) as error:
        reason = "it is not UTF-8 text"
        raise DefinitionError("PIPELINE_FILE_UNREADABLE", location=place, reason=reason) from error


_HEADER = re.compile(r"\ufeff?(#|--) Databricks notebook source[ \t]*(?:\r?\n|\Z)")


def is_notebook(path: Path, text: str) -> bool:
    """Whether a file with that text is a notebook: an `.ipynb`, or an export of Databricks with its first line."""
    return path.suffix == ".ipynb" or _HEADER.match(text) is not None


_MAIN_BLOCK = re.compile(r"""^\s*"?if\s+__name__\s*==\s*[\\"']+__main__""", re.MULTILINE)
_IMPORTS_DLT = re.compile(r"^\s*(?:import|from)\s+dlt\b", re.MULTILINE)


def runs_main_block(path: Path, text: str) -> bool:
    """Whether a file has a block for the name `__main__`, and Databricks gives it this name: notebooks, and with `dlt`.

    Files for `pyspark.pipelines` are modules: Spark imports them.
    """
    return _MAIN_BLOCK.search(text) is not None and (is_notebook(path, text) or _IMPORTS_DLT.search(text) is not None)


def read_cells(path: Path, text: str, root: Path) -> tuple[Cell, ...]:
    """Returns the code cells of a notebook in their order.

    Args:
        path: The absolute path of the file.
        text: What it holds.
        root: The pipeline's directory, for the place in errors.

    Raises:
        DefinitionError: NOTEBOOK_INVALID for an `.ipynb` that is none, or of another language.
    """
    if path.suffix == ".ipynb":
        return tuple(_ipynb_cells(path, text, SourceLocation(shown_path(str(path), root))))
    return tuple(_export_cells(path, text))


def _export_cells(path: Path, text: str) -> Iterator[Cell]:
    header = _HEADER.match(text)
    comment = re.escape(header.group(1)) if header else "#"
    end = re.compile(rf"{comment} COMMAND -{{5,}}\s*")
    heading = re.compile(rf"\ufeff?{comment} (DBTITLE \d+,.*|Databricks notebook source\s*)")
    magic = re.compile(rf"{comment} MAGIC ?")
    language = Language.SQL if path.suffix == ".sql" else Language.PYTHON
    lines: list[str] = []
    first, margin = 1, 0
    for number, line in enumerate([*text.splitlines(), None], start=1):
        if line is None or end.fullmatch(line):
            yield Cell(str(path), first, "\n".join(lines), language, margin)
            lines, first, margin = [], number + 1, 0
        elif found := magic.match(line):
            lines.append(line[found.end() :])
            margin = max(margin, found.end())  # an empty line has no blank behind MAGIC
        else:
            lines.append("" if heading.fullmatch(line) else line)


def _ipynb_cells(path: Path, text: str, place: SourceLocation) -> Iterator[Cell]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise _invalid(SourceLocation(place.path, error.lineno), "it is not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise _invalid(place, "it has no list of cells (notebooks of version 4 have one)")
    language = _language(document.get("metadata"), place)
    for number, cell in enumerate(document["cells"], start=1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        lines = source if isinstance(source, list) else [source]
        if not all(isinstance(line, str) for line in lines):
            raise _invalid(place, f"the source of cell {number} is no text")
        yield Cell(f"{path}#cell{number}", 1, "".join(lines), language)


def _language(metadata: Any, place: SourceLocation) -> Language:
    """Returns the language of cells that do not name one; Databricks and Jupyter write it at different places."""
    places = (("application/vnd.databricks.v1+notebook", "language"), ("language_info", "name"))
    for section, key in (*places, ("kernelspec", "language")):
        inner = metadata.get(section) if isinstance(metadata, dict) else None
        name = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(name, str):
            try:
                return Language(name.casefold())
            except ValueError:
                raise _invalid(place, f"its language is {name}; pipelines are written in Python and SQL") from None
    return Language.PYTHON


def _invalid(place: SourceLocation, reason: str) -> DefinitionError:
    return DefinitionError("NOTEBOOK_INVALID", location=place, reason=reason)
