"""The end of a command's process."""

from __future__ import annotations

import atexit
import os
import sys
import threading


def end_quickly(exit_code: int) -> None:
    """Ends the process as `sys.exit` would, without taking the interpreter apart: after Spark that takes half a second.

    Whatever registered for the end is called, once, and output is flushed. Returns when that does not do: a thread
    still works, or output cannot be written.
    """
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        return
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(exit_code)
