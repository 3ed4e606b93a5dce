"""Which files declare the pipeline: the `libraries` of a pipeline file and what they match."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from penstock.errors import ConfigError, SourceLocation

_SOURCES = (".py", ".ipynb")
_NOT_YET = (".sql",)


class LibraryKind(Enum):
    """How a library names its files."""

    GLOB = "glob"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Library:
    """One entry of `libraries`.

    `pattern` is relative to the pipeline's folder or absolute: a glob pattern (`**` matches folders
    at any depth), a folder (all files below it), or a file.
    """

    pattern: str
    kind: LibraryKind
    location: SourceLocation


def find_source_files(directory: Path, libraries: Sequence[Library], pipeline_file: SourceLocation) -> list[Path]:
    """Returns the files that declare the pipeline, absolute, sorted, each once.

    Without `libraries`: every .py file below `transformations/` when that folder exists, else every
    .py file in `directory`; in both cases without tests (`test_*.py`, `*_test.py`, `conftest.py`).

    Raises:
        ConfigError: CONFIG_NO_SOURCE_FILES for an entry that matches none, CONFIG_SOURCE_NOT_SUPPORTED.
    """
    if not libraries:
        pattern = "transformations/**" if (directory / "transformations").is_dir() else "*.py"
        library = Library(pattern, LibraryKind.GLOB, pipeline_file)
        return sorted(
            _python_files([path for path in _match(directory, library) if not _is_test(path)], library, directory)
        )
    found: set[Path] = set()
    for library in libraries:
        found.update(_python_files(_match(directory, library), library, directory))
    return sorted(found)


def _match(directory: Path, library: Library) -> list[Path]:
    path = directory / os.path.expanduser(library.pattern)
    if library.kind is LibraryKind.FILE or path.is_file():
        return [path] if path.is_file() else []
    pattern = str(path / "**") if path.is_dir() else os.path.expanduser(library.pattern)
    names = glob.glob(pattern, root_dir=directory, recursive=True)
    return [path for path in (directory / name for name in names) if path.is_file()]


def _python_files(paths: Iterable[Path], library: Library, directory: Path) -> list[Path]:
    python: list[Path] = []
    for path in paths:
        if path.suffix in _NOT_YET:
            raise ConfigError(
                "CONFIG_SOURCE_NOT_SUPPORTED",
                location=library.location,
                file=path.relative_to(directory) if path.is_relative_to(directory) else path,
                suffix=path.suffix,
            )
        if path.suffix in _SOURCES:
            python.append(Path(os.path.normpath(path)))
    if not python:
        raise ConfigError(
            "CONFIG_NO_SOURCE_FILES", location=library.location, pattern=library.pattern, directory=directory
        )
    return python


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name.endswith("_test.py") or path.name == "conftest.py"
