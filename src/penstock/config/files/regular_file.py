"""Reading a file that somebody else may have put there: a pipe, a device or gigabytes hold nothing up."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_regular_file(path: Path, at_most: int) -> bytes:
    """Returns the content of the file that `path` names, or leads to, if it has no more than `at_most` bytes.

    Raises:
        OSError: it cannot be read; `strerror` says why, also of what is no file (EINVAL) or too large (EFBIG).
    """
    _check(path.stat())  # before it is opened: to open a device can do something
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check(status)
        content = b"" if status.st_size > at_most else file.read(at_most + 1)
    if status.st_size > at_most or len(content) > at_most:
        raise OSError(errno.EFBIG, f"it is larger than {at_most / 1_000_000:.0f} MB")
    return content


def _check(status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"it is {_KINDS.get(kind, 'something else')}, not a file")
