"""Runs files and notebooks in a module's namespace, as one program in two languages."""

from __future__ import annotations
import __future__

import functools
import operator
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, assert_never

from penstock.declare.code.dbutils import Dbutils
from penstock.declare.code.notebook.files import Part, PartKind, is_notebook, read_cells, read_source_text
from penstock.declare.code.notebook.magics import parts_of
from penstock.declare.registry import active_registry
from penstock.declare.sql.script import SqlScript
from penstock.declare.user_frames import shown_path
from penstock.errors import DefinitionError, SourceLocation

_SUFFIXES = ("", ".py", ".ipynb", ".sql")
_FUTURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

Locate = Callable[[str], str]
"""Returns where a path of another platform really is."""


class NotebookRunner:
    """Runs the files of one pipeline.

    Queries in SQL run on `session`; `locate` is applied to the absolute paths of `%run`.
    """

    def __init__(self, root: Path, session: Any, locate: Locate) -> None:
        self._root = root
        self._session = session
        self._locate = locate

    def run(self, path: Path, namespace: dict[str, Any]) -> None:
        """Runs a Python file, SQL file or notebook in `namespace`.

        Wrong SQL does not raise: its errors go to the active registry, and the rest is read.

        Raises:
            DefinitionError: PIPELINE_FILE_UNREADABLE, NOTEBOOK_INVALID, NOTEBOOK_NOT_FOUND, NOTEBOOK_RUNS_ITSELF,
                NOTEBOOK_MAGIC_REFUSED.
            BaseException: whatever the user's code raises, SyntaxError included.
        """
        self._run(path, namespace, SqlScript(self._session), ())

    def _run(self, path: Path, namespace: dict[str, Any], script: SqlScript, outer: tuple[str, ...]) -> None:
        """Runs a file to which `%run` led from the files `outer`; all of them share the `script`."""
        text = read_source_text(path, self._root)
        if path.suffix == ".sql" and not is_notebook(path, text):
            script.load(text, shown_path(str(path), self._root))
            return
        if path.suffix == ".py" and not is_notebook(path, text):
            exec(compile(text, str(path), "exec", dont_inherit=True), namespace)  # noqa: S102 - it is the purpose
            return
        flags = 0
        for part in _parts(path, text, self._root):
            match part.kind:
                case PartKind.PYTHON:
                    padded = "\n" * (part.line - 1) + part.text
                    code = compile(padded, part.file, "exec", flags=flags, dont_inherit=True)
                    flags |= code.co_flags & _FUTURES
                    exec(code, namespace)  # noqa: S102 - running the user's pipeline is the purpose
                case PartKind.SQL:
                    shown = shown_path(part.file, self._root)
                    script.load(part.text, shown, first_line=part.line, margin=part.margin)
                case PartKind.RUN:
                    self._run_other(path, part, namespace, script, outer)
                case PartKind.INSTALL:
                    notice = self._error("NOTEBOOK_INSTALL_IGNORED", part, command=part.text)
                    active_registry("%pip").add_notice(notice)
                case PartKind.IGNORED:
                    active_registry("%").add_notice(self._error("NOTEBOOK_MAGIC_IGNORED", part, magic=part.text))
                case PartKind.REFUSED:
                    raise self._error("NOTEBOOK_MAGIC_REFUSED", part, magic=part.text)
                case _:
                    assert_never(part.kind)

    def _run_other(
        self, path: Path, part: Part, namespace: dict[str, Any], script: SqlScript, outer: tuple[str, ...]
    ) -> None:
        found, tried = _find(path, part.text, self._locate)
        dbutils = namespace.get("dbutils")
        if isinstance(dbutils, Dbutils):
            dbutils.widgets.give(_parameters(part.text))
        if found is None:
            raise self._error("NOTEBOOK_NOT_FOUND", part, notebook=part.text, tried=", ".join(tried) or "nothing")
        chain = (*outer, os.path.realpath(path))
        if os.path.realpath(found) in chain:
            raise self._error("NOTEBOOK_RUNS_ITSELF", part, notebook=shown_path(str(found), self._root))
        self._run(found, namespace, script, chain)

    def _error(self, condition: str, part: Part, **facts: str) -> DefinitionError:
        place = SourceLocation(shown_path(part.file, self._root), part.line)
        return DefinitionError(condition, location=place, dataset=None, **facts)


def run_targets(files: Iterable[Path], root: Path, locate: Locate) -> frozenset[str]:
    """Returns the real paths of the notebooks that `files` run with `%run`: they are not run by themselves as well.

    What cannot be read is passed over: it is reported when it is run.
    """
    found = set()
    for path in files:
        try:
            text = read_source_text(path, root)
            parts = list(_parts(path, text, root)) if is_notebook(path, text) else []
        except DefinitionError:
            continue
        for part in parts:
            target = _find(path, part.text, locate)[0] if part.kind is PartKind.RUN else None
            if target is not None:
                found.add(os.path.realpath(target))
    return frozenset(found)


def _parts(path: Path, text: str, root: Path) -> Iterator[Part]:
    for cell in read_cells(path, text, root):
        yield from parts_of(cell)


def _find(path: Path, arguments: str, locate: Locate) -> tuple[Path | None, list[str]]:
    """Returns the notebook that the arguments of a `%run` in the file `path` name, and where it was looked for."""
    words = _words(arguments)
    if not words:
        return None, []
    named = path.parent / (locate(words[0]) if words[0].startswith("/") else words[0])
    tried = [Path(os.path.normpath(f"{named}{suffix}")) for suffix in _SUFFIXES]
    return next((each for each in tried if each.is_file()), None), [str(each) for each in tried]


def _parameters(arguments: str) -> dict[str, str]:
    """Returns the `$name="value"` of a `%run`."""
    pairs = (word[1:].partition("=") for word in _words(arguments)[1:] if word.startswith("$"))
    return {name: value for name, _, value in pairs}


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quotation mark without its partner
        return arguments.split()
