"""What the operating system has no more of: file descriptors and threads."""

from __future__ import annotations

import errno

from penstock.errors.base import ExternalError

_NO_DESCRIPTOR = {errno.EMFILE, errno.ENFILE}
_NO_THREAD = ("can't start new thread", "unable to create native thread")


def exhaustion(error: BaseException) -> ExternalError | None:
    """Returns OPEN_FILES_EXHAUSTED or THREADS_EXHAUSTED when `error`, or what caused it, says so; else None."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        seen.append(cause)
        if isinstance(cause, OSError) and cause.errno in _NO_DESCRIPTOR:
            return ExternalError("OPEN_FILES_EXHAUSTED", detail=cause)
        if any(text in str(cause) for text in _NO_THREAD):
            return ExternalError("THREADS_EXHAUSTED", detail=str(cause))
        cause = cause.__cause__ or cause.__context__
    return None
