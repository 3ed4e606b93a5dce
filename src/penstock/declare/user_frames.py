"""Which frames of a stack are the user's, and where in the user's files they stand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType

from penstock.errors import SourceLocation

_OUR_FOLDERS = tuple(str(Path(__file__).parents[1] / name) for name in ("declare", "spark", "analysis", "runtime"))
_INSTALLED = ("site-packages", "dist-packages")


def caller_location(root: Path) -> SourceLocation:
    """Returns the line in the user's files that called into Penstock.

    The innermost frame under `root` counts; without one, the innermost frame that is not ours.
    """
    frames = list(_frames(sys._getframe(1)))  # noqa: SLF001 - the way to the caller's line that reads no source
    mine = [(name, line) for name, line in frames if is_user_file(name, root)]
    others = [(name, line) for name, line in frames if not name.startswith(_OUR_FOLDERS)]
    name, line = (mine or others or frames)[0]
    return SourceLocation(shown_path(name, root), line)


def failure_location(traceback: TracebackType | None, root: Path) -> SourceLocation | None:
    """Returns the innermost line in the user's files that an exception passed, or None."""
    found = None
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if is_user_file(name, root):
            found = SourceLocation(shown_path(name, root), traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def is_user_file(name: str, root: Path) -> bool:
    """Whether a code object's file belongs to the pipeline: under `root`, not ours, not an installed library."""
    if name.startswith((*_OUR_FOLDERS, "<")):
        return False
    path = Path(name)
    return path.is_relative_to(root) and not any(part in _INSTALLED for part in path.relative_to(root).parts)


def shown_path(name: str, root: Path) -> str:
    """Returns `name` relative to the pipeline's directory, with slashes; a file outside of it stays as it is."""
    path = Path(name)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _frames(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
