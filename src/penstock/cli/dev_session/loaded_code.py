"""Whether the modules of this process are still those on the disk."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

_State = tuple[int, int, int]
"""When a file was changed, in nanoseconds, its size in bytes, and its number in the file system."""


@dataclass(slots=True)
class LoadedCode:
    """Knows the files of all modules of this process as they were when they were first seen."""

    _states: dict[str, _State | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.note()

    def note(self) -> None:
        """Notes modules that were imported since the last call."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__dict__", {}).get("__file__")  # an attribute could be made only when asked for
            if isinstance(file, str) and file not in self._states:
                self._states[file] = _state(file)

    def changed(self) -> str | None:
        """Returns a file that has changed since it was noted, None when all are the same."""
        return next((file for file, state in self._states.items() if _state(file) != state), None)


def _state(file: str) -> _State | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
