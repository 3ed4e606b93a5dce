"""Reads a file of code: a script, a notebook or SQL."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from penstock.care.lint.script import Script
from penstock.care.places import in_cell
from penstock.errors import ConfigError, DefinitionError, SourceLocation
from penstock.graph.sql.placed_text import PlacedText

_NOTEBOOK: Final = "# Databricks notebook source"
_MAGIC: Final = ("%", "!", "pip install ")
"""Beginnings of lines that a notebook takes and Python does not."""
_SQL_MAGIC: Final = re.compile(r"%{1,2}sql\b")
_COMMENTED: Final = "# MAGIC"
_LONGEST: Final = 2_000_000
"""Characters of code in a file; more is data, or made by a program."""


def read_script(path: Path) -> Script:
    """Reads a file of Python or SQL, or the cells of a notebook in these languages.

    Raises:
        ConfigError: LINT_FILE_UNREADABLE.
        DefinitionError: LINT_SYNTAX_ERROR.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
        raise ConfigError("LINT_FILE_UNREADABLE", path=str(path), reason=reason) from None
    if path.suffix == ".ipynb":
        return _read_notebook(path, text)
    if len(text) > _LONGEST:
        raise ConfigError("LINT_FILE_UNREADABLE", path=str(path), reason=_too_long(len(text)))
    if path.suffix == ".sql":
        return _read_sql(path, text)
    lines = text.split("\n")
    if not lines[0].startswith(_NOTEBOOK):
        return Script(str(path), lines, _parsed(path, lines, None))
    sql = list(_commented_sql(lines, str(path)))
    lines = [_without_magic(line) for line in lines]
    return Script(str(path), lines, _parsed(path, lines, None), notebook=True, sql=sql)


def _read_sql(path: Path, text: str) -> Script:
    from penstock.care.lint.sql.statements import check_syntax, is_judged

    if "\0" in text:
        raise ConfigError("LINT_FILE_UNREADABLE", path=str(path), reason="it is not UTF-8 text")
    source = PlacedText.of(text, str(path))
    error = check_syntax(source)
    if error is not None:
        found, expected = error.facts.get("found"), error.facts.get("expected")
        reason = f"{found} stands where {expected} is expected" if found else error.message.rstrip(".")
        raise DefinitionError("LINT_SYNTAX_ERROR", location=error.location, language="SQL", reason=reason)
    sql = [source] if is_judged(text) else []
    return Script(str(path), text.split("\n"), ast.parse(""), notebook=True, sql=sql)


def _read_notebook(path: Path, text: str) -> Script:
    code, shown, places, sql = list[str](), list[str](), list[tuple[int, int]](), list[PlacedText]()
    for number, written, is_sql in _cells(path, text):
        if is_sql:
            written[0] = _SQL_MAGIC.sub(lambda magic: " " * len(magic.group()), written[0], count=1)
            sql.append(PlacedText.of("\n".join(written), str(path), line=len(shown) + 1))
            code += [""] * len(written)
            shown += written
        else:
            python = [_without_magic(line) for line in written]
            code += python
            shown += python
        places += [(number, line) for line in range(1, len(written) + 1)]
    size = sum(map(len, shown))
    if size > _LONGEST:
        raise ConfigError("LINT_FILE_UNREADABLE", path=str(path), reason=_too_long(size))
    return Script(str(path), shown, _parsed(path, code, places), notebook=True, places=places, sql=sql)


def _cells(path: Path, text: str) -> Iterator[tuple[int, list[str], bool]]:
    """Yields the number and the lines of each cell of code, and whether it is SQL; none of other magics."""
    try:
        notebook = json.loads(text)
        of_sql = _language(notebook) == "sql"
        for number, cell in enumerate(notebook["cells"], start=1):
            source = cell["source"]
            written = (source if isinstance(source, str) else "".join(source)).split("\n")
            is_sql = _SQL_MAGIC.match(written[0]) is not None
            if cell["cell_type"] == "code" and (is_sql or not written[0].startswith("%%")):
                yield number, written, is_sql or (of_sql and not written[0].startswith(_MAGIC))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigError("LINT_FILE_UNREADABLE", path=str(path), reason="it is no notebook of Jupyter") from None


def _language(notebook: dict[str, Any]) -> str:
    """Returns the language of cells without a magic, as Databricks or Jupyter writes it down; empty for none."""
    about = notebook.get("metadata") or {}
    databricks = about.get("application/vnd.databricks.v1+notebook") or {}
    jupyter = about.get("language_info") or {}
    return str(databricks.get("language") or jupyter.get("name") or "").casefold()


def _commented_sql(lines: list[str], path: str) -> Iterator[PlacedText]:
    """Yields the SQL cells of a notebook of Databricks in Python, where they are comments."""
    cell: list[str] = []
    for number, line in enumerate([*lines, ""]):
        if line.startswith(_COMMENTED):
            cell.append(" " * len(_COMMENTED) + line.removeprefix(_COMMENTED))
            continue
        if cell and _SQL_MAGIC.match(cell[0].lstrip()):
            cell[0] = _SQL_MAGIC.sub(lambda magic: " " * len(magic.group()), cell[0], count=1)
            yield PlacedText.of("\n".join(cell), path, line=number - len(cell) + 1)
        cell = []


def _without_magic(line: str) -> str:
    """A line that IPython would take, as one that Python takes, of the same indentation."""
    stripped = line.lstrip()
    return line[: len(line) - len(stripped)] + "pass" if stripped.startswith(_MAGIC) else line


def _parsed(path: Path, lines: list[str], places: list[tuple[int, int]] | None) -> ast.Module:
    try:
        return ast.parse("\n".join(lines) + "\n")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _syntax_error(path, error, places) from None


def _syntax_error(path: Path, error: Exception, places: list[tuple[int, int]] | None) -> DefinitionError:
    line = getattr(error, "lineno", None) or 1
    column = getattr(error, "offset", None)
    reason = str(getattr(error, "msg", None) or error)
    if "Missing parentheses in call to 'print'" in reason:
        reason += "; it is Python 2, which Spark 4 does not run"
    place = SourceLocation(str(path), line, column)
    if places is not None and line <= len(places):
        place = in_cell(str(path), *places[line - 1], column)
    return DefinitionError("LINT_SYNTAX_ERROR", location=place, language="Python", reason=reason)


def _too_long(size: int) -> str:
    return f"it has {size:,} characters of code, and more than {_LONGEST:,} are not checked"
