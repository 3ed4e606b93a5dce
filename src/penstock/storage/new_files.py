"""Who may read the files that this process, and the JVM that it starts, will create: its umask."""

from __future__ import annotations

import os
import stat
from typing import Final

from penstock.storage.local_disk import local_path

ACCESS: Final = {"owner": 0o077, "group": 0o007, "all": None}
"""Values of `storage_access`, with the umask of each; None is the one that the shell has set."""


def restrict_new_files(storage_uri: str, access: str | None) -> None:
    """Sets the umask of this process; every command calls it before it writes anything.

    Args:
        storage_uri: the storage. A folder of a local disk that is there already keeps its mode, and unless `access`
            says otherwise what is written in it is as open as that folder; a new one is for its owner only.
        access: a key of `ACCESS`, None if the pipeline says none.
    """
    if access is not None:
        mask = ACCESS[access]
        if mask is not None:
            os.umask(mask)
        return
    folder = local_path(storage_uri)
    if "://" in folder:
        return  # what is in an object store has no mode
    try:
        mode = stat.S_IMODE(os.stat(folder).st_mode)
    except OSError:
        mode = 0o700
    os.umask(process_umask() | (~mode & 0o077))


def process_umask() -> int:
    """Returns the umask of this process, which can be read only by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
