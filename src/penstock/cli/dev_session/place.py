"""The socket at which `penstock dev` of a project takes commands: only its own user can reach it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(".penstock", "dev")
_SOCKET: Final = "socket"
_OWNER_ONLY: Final = 0o077


def folder_of(project: Path) -> Path:
    """Returns the folder of the socket of a project, which is named by its folder or its pipeline file."""
    return (project.parent if project.is_file() else project).absolute() / _FOLDER


def connect(project: Path) -> socket.socket | None:
    """Returns a connection to the session of a project; None when none runs, or it is not of this user."""
    folder = folder_of(project)
    try:
        if not is_private(folder):
            return None
        connection = socket.socket(socket.AF_UNIX)
    except (OSError, AttributeError):  # a system may have no such sockets
        return None
    try:
        with chdir(folder):  # the name of a socket has at most a hundred characters
            connection.connect(_SOCKET)
    except OSError:  # also of one whose session was killed
        connection.close()
        return None
    return connection


def is_private(folder: Path) -> bool:
    """Whether only this user can write in a folder and see what is in it."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & _OWNER_ONLY


@contextmanager
def listening(project: Path) -> Iterator[socket.socket]:
    """Listens at the socket of a project; it is gone after the block, with the folder if that is empty.

    Raises:
        OSError: there cannot be one, or another session has it.
    """
    if (other := connect(project)) is not None:
        other.close()
        raise FileExistsError("another session of this project does")
    folder = folder_of(project)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(f"{folder} is open to others")
    with socket.socket(socket.AF_UNIX) as listener:
        with chdir(folder):
            Path(_SOCKET).unlink(missing_ok=True)  # of a session that was killed
            mask = os.umask(0o177)
            try:
                listener.bind(_SOCKET)
            finally:
                os.umask(mask)
        listener.listen()
        try:
            yield listener
        finally:
            (folder / _SOCKET).unlink(missing_ok=True)
            with suppress(OSError):  # the storage may be in the same place
                folder.rmdir()
                folder.parent.rmdir()
