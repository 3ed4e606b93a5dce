"""Changes of files that belong to the user: whole, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from pathlib import Path

from penstock.errors import ConfigError


def replace_user_file(path: Path, content: bytes) -> None:
    """Writes a file, or replaces its content; permissions stay, and so does a link.

    A process that dies meanwhile leaves the old content or the new, never a part.

    Raises:
        ConfigError: FILE_NOT_WRITABLE.
    """
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        temporary.write_bytes(content)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise ConfigError("FILE_NOT_WRITABLE", path=path, reason=error.strerror or error) from error
    finally:
        temporary.unlink(missing_ok=True)
