"""Which files declare the pipeline: the `libraries` of a pipeline file and what they match."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from penstock.config.files.path_mapping import map_path
from penstock.errors import ConfigError, SourceLocation

_SOURCES = (".py", ".sql", ".ipynb")
_WORKSPACES = ("/Workspace/", "/Repos/", "/Shared/", "/Users/")


class LibraryKind(Enum):
    """How a library names its files."""

    GLOB = "glob"
    FILE = "file"
    NOTEBOOK = "notebook"


@dataclass(frozen=True, slots=True)
class Library:
    """One entry of `libraries`.

    `pattern` is relative to the pipeline's folder or absolute: a glob pattern (in a `glob`, `**` matches folders
    at any depth), a folder (all files below it), a file, or a notebook without the ending of its name.
    A path of a workspace that is not on this machine is looked for in the pipeline's folder.
    """

    pattern: str
    kind: LibraryKind
    location: SourceLocation


def find_source_files(
    directory: Path, libraries: Sequence[Library], pipeline_file: SourceLocation, paths: Mapping[str, str]
) -> list[Path]:
    """Returns the files that declare the pipeline, absolute, sorted, each once; `paths` maps absolute patterns.

    Without `libraries`: every .py, .sql and .ipynb file below `transformations/` when that folder exists,
    else every .py and .sql file in `directory`; in both cases without tests (`test_*.py`, `*_test.py`, `conftest.py`).

    Raises:
        ConfigError: CONFIG_NO_SOURCE_FILES for an entry that matches none.
    """
    if not libraries:
        patterns = ("transformations/**",) if (directory / "transformations").is_dir() else ("*.py", "*.sql")
        defaults = [Library(pattern, LibraryKind.GLOB, pipeline_file) for pattern in patterns]
        found_here = [path for library in defaults for path in _match(directory, library) if not _is_test(path)]
        return sorted(_source_files(found_here, defaults[0], directory))
    found: set[Path] = set()
    for library in libraries:
        here = replace(library, pattern=find_in_folder(library.pattern, directory, paths))
        found.update(_source_files(_match(directory, here), library, directory))
    return sorted(found)


def _match(directory: Path, library: Library) -> list[Path]:
    path = directory / os.path.expanduser(library.pattern)
    spellings = _spellings(path) if library.kind is LibraryKind.NOTEBOOK else (path,)
    if found := [each for each in spellings if each.is_file()]:
        return found[:1]
    # The Databricks CLI expands patterns of `file` and `notebook` too; there `**` matches one folder, as `*` does.
    whole = library.kind is LibraryKind.GLOB
    pattern = str(path / "**") if whole and path.is_dir() else os.path.expanduser(library.pattern)
    names = glob.glob(pattern, root_dir=directory, recursive=whole)
    return [path for path in (directory / name for name in names) if path.is_file()]


def find_in_folder(pattern: str, directory: Path, paths: Mapping[str, str]) -> str:
    """Returns where a path or pattern of a workspace is: mapped by `paths`, or the end of it that `directory` holds.

    One that is nowhere is returned as it is; notebooks may lack the ending of their name.
    """
    mapped = map_path(pattern, paths)
    if mapped != pattern or not pattern.startswith(_WORKSPACES) or _exists(Path(pattern)):
        return mapped
    parts = pattern.strip("/").split("/")
    tails = [Path(*parts[start:]) for start in range(1, len(parts))]
    return str(next((directory / tail for tail in tails if _exists(directory / tail, below=directory)), pattern))


def _exists(pattern: Path, below: Path | None = None) -> bool:
    """Whether a file, a notebook without its ending, a match of a pattern, or the folder before its `*` exists."""
    fixed = Path(str(pattern).partition("*")[0])
    if glob.has_magic(str(pattern)) and glob.glob(str(pattern)):
        return True
    return fixed != below and any(each.exists() for each in _spellings(fixed))


def _spellings(path: Path) -> tuple[Path, ...]:
    return (path, *(path.with_name(f"{path.name}{suffix}") for suffix in _SOURCES if path.name))


def _source_files(paths: Iterable[Path], library: Library, directory: Path) -> list[Path]:
    sources = [Path(os.path.normpath(path)) for path in paths if path.suffix in _SOURCES]
    if not sources:
        raise ConfigError(
            "CONFIG_NO_SOURCE_FILES",
            location=library.location,
            pattern=library.pattern,
            directory=directory,
            elsewhere=_elsewhere(directory),
        )
    return sources


def _elsewhere(directory: Path) -> str:
    """Returns what names the files that lie in folders, not far below; empty when there are none."""
    near = [path for path in directory.glob("*/*") if not path.relative_to(directory).parts[0].startswith(".")]
    near += [path for folder in near if folder.is_dir() for path in folder.glob("*")]
    found = sorted({path.relative_to(directory).parts[0] for path in near if path.suffix in _SOURCES})
    globs = ", ".join(f"{{glob: {{include: {name}/**}}}}" for name in found)
    return f" For those below: 'libraries: [{globs}]'." if found else ""


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name.endswith("_test.py") or path.name == "conftest.py"
