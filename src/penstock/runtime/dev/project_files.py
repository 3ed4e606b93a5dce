"""Which of a project's files have changed: looked up by their times, so it works on every file system."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_SUFFIXES: Final = frozenset({".py", ".sql", ".ipynb", ".yml", ".yaml"})
_NEVER: Final = frozenset({"__pycache__", "node_modules", "venv", "site-packages"})
_LOOK_FOR_NEW_SECONDS: Final = 0.5
_SETTLE_SECONDS: Final = 0.03

State = tuple[int, int]
"""When a file was changed, in nanoseconds, and its size in bytes."""


@dataclass(slots=True)
class ProjectFiles:
    """Watches the source files and pipeline files below `directory`, and the files that `also` names.

    Hidden folders, those of Python's environments and `without`, folders of data, are not searched.
    """

    directory: Path
    also: Callable[[], Iterable[Path]] = tuple
    without: tuple[Path, ...] = ()
    _states: dict[Path, State] = field(default_factory=dict)
    _paths: frozenset[Path] = frozenset()
    _next_search: float = 0.0

    def __post_init__(self) -> None:
        self._states = self._search()

    def changed(self) -> tuple[Path, ...]:
        """Returns the files that were changed, added or removed since the last call, once they do not grow any more."""
        now = self._look()
        if now == self._states:
            return ()
        while True:  # an editor may write a file in parts
            time.sleep(_SETTLE_SECONDS)
            if (settled := self._look()) == now:
                break
            now = settled
        before, self._states = self._states, now
        return tuple(sorted(path for path in {*before, *now} if before.get(path) != now.get(path)))

    def _look(self) -> dict[Path, State]:
        """Returns the files as they are now; new ones are searched for less often, the longer that takes."""
        if time.monotonic() < self._next_search:
            return _with_states(self._paths)
        return self._search()

    def _search(self) -> dict[Path, State]:
        started = time.monotonic()
        self._paths = frozenset({*_source_files(self.directory, self.without), *self.also()})
        found = _with_states(self._paths)
        ended = time.monotonic()
        self._next_search = ended + max(_LOOK_FOR_NEW_SECONDS, 10 * (ended - started))
        return found


def _with_states(paths: Iterable[Path]) -> dict[Path, State]:
    found = {}
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _source_files(directory: Path, without: tuple[Path, ...]) -> Iterator[Path]:
    for folder, folders, files in os.walk(directory):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and name not in _NEVER and Path(folder, name) not in without
        ]
        yield from (Path(folder, name) for name in files if Path(name).suffix in _SUFFIXES)
