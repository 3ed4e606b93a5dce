"""Takes a cell apart at its magic commands (`%sql`, `%run ./other`, `%pip install x`)."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from penstock.declare.code.notebook.files import Cell, Language, Part, PartKind

_MAGIC = re.compile(r"%{1,2}([A-Za-z][\w-]*)[ \t]*(.*)", re.DOTALL)
_TEXT = frozenset({"html", "javascript", "js", "latex", "markdown", "md", "md-sandbox", "svg"})
_LANGUAGES = {"python": Language.PYTHON, "py": Language.PYTHON, "sql": Language.SQL}
# Jupyter's own: they change how a cell is shown or measured, not what it does.
_OF_THE_CELL = frozenset({"capture", "time", "timeit"})
_OF_THE_SCREEN = frozenset({"autoreload", "config", "load_ext", "matplotlib", "reload_ext"})
_INSTALLERS = frozenset({"conda", "pip", "uv"})
# Their whole cell is for the notebook: its environment, or code that is not to run.
_OF_THE_NOTEBOOK = frozenset({"configure", "environment", "skip"})
# Another language, a shell, or a change of what the cells behind it find. Other magics set up the notebook.
# fmt: off
_REFUSED = frozenset({
    "bash", "cd", "cmd", "csharp", "cython", "dotnet", "env", "file", "fs", "java", "kotlin", "load", "macro",
    "perl", "powershell", "pypy", "python2", "r", "ruby", "scala", "script", "set_env", "sh", "spark",
    "sparkr", "store", "sx", "writefile", "zsh",
})
# fmt: on


def parts_of(cell: Cell) -> tuple[Part, ...]:
    """Returns what a cell asks to be done, in its order; cells of text and empty cells ask for nothing."""
    lines = cell.text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return ()
    found = _MAGIC.match(lines[first])
    name = found.group(1) if found else ""
    if name in _TEXT:
        return ()
    language = cell.language
    if found and (name in _LANGUAGES or name in _OF_THE_CELL):
        language = _LANGUAGES.get(name, language)
        lines[first] = _rest(lines[first], found, language)
    elif found and name in _OF_THE_NOTEBOOK:
        return (Part(PartKind.IGNORED, cell.file, cell.line + first, name),)
    elif found and (name in _REFUSED or not _is_line_magic(lines[first], name, lines[first + 1 :], language)):
        return (Part(PartKind.REFUSED, cell.file, cell.line + first, name),)
    split = _sql_parts if language is Language.SQL else _python_parts
    return tuple(split(cell, lines))


def _is_line_magic(line: str, name: str, rest: list[str], language: Language) -> bool:
    """Whether the rest of the cell is the cell's own language: of an unknown magic it may be a text in another one."""
    if name in _INSTALLERS | _OF_THE_SCREEN | {"run"}:
        return True
    if line.startswith("%%"):
        return False
    if language is Language.SQL:
        return True
    commands = {number for number, _ in _commands(rest)}
    return _is_python("\n".join("" if number in commands else line for number, line in enumerate(rest)))


def _rest(line: str, magic: re.Match[str], language: Language) -> str:
    """Returns what stands behind the magic: of SQL at its column, of Python at the beginning of the line."""
    rest = magic.group(2)
    return " " * (len(line) - len(rest)) + rest if language is Language.SQL and rest else rest


def _python_parts(cell: Cell, lines: list[str]) -> Iterator[Part]:
    # A line that continues an expression can begin with `%` as well: then the cell is Python as it is.
    commands = dict(_commands(lines))
    if commands and _is_python("\n".join(lines)):
        commands = {}
    start = 0
    for number in (*commands, len(lines)):
        code = "\n".join(lines[start:number])
        if code.strip():
            yield Part(PartKind.PYTHON, cell.file, cell.line + start, code)
        if number in commands:
            command = commands[number]
            yield from _command(cell, number, command)
            start = number + command.count("\n") + 1


def _sql_parts(cell: Cell, lines: list[str]) -> Iterator[Part]:
    """SQL has no operator at the beginning of a statement: commands stand before it."""
    start = 0
    for number, command in _commands(lines):
        if "".join(lines[start:number]).strip():
            break
        yield from _command(cell, number, command)
        start = number + command.count("\n") + 1
    text = "\n".join(lines[start:])
    if text.strip():
        yield Part(PartKind.SQL, cell.file, cell.line + start, text, cell.margin)


def _commands(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yields number and text of each line that is a command, with the lines that a backslash adds to it."""
    number = 0
    while number < len(lines):
        first = number
        if _MAGIC.match(lines[number]) or lines[number].startswith("!"):
            while lines[number].endswith("\\") and number + 1 < len(lines):
                number += 1
            yield first, "\n".join(lines[first : number + 1])
        number += 1


def _command(cell: Cell, number: int, command: str) -> Iterator[Part]:
    words = command.replace("\\\n", " ").lstrip("%!").split()
    line = cell.line + number
    found = _MAGIC.match(command)
    name = found.group(1) if found else "!"
    if words and words[0] in _INSTALLERS:
        yield Part(PartKind.INSTALL, cell.file, line, " ".join(words))
    elif name == "run":
        yield Part(PartKind.RUN, cell.file, line, " ".join(words[1:]))
    elif found and name == "sql":
        yield Part(PartKind.SQL, cell.file, line, _rest(command, found, Language.SQL), cell.margin)
    elif name in _REFUSED | {"!"}:
        yield Part(PartKind.REFUSED, cell.file, line, name)
    elif name not in _OF_THE_SCREEN:
        yield Part(PartKind.IGNORED, cell.file, line, name)


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns about, it does again when the cell is run
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True
