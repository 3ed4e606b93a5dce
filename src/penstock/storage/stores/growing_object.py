"""An object that grows line by line, as a file does: an object store can only replace objects as a whole."""

from __future__ import annotations

import errno
import io
import logging
import os
import threading
import time
from typing import Any, Final

from penstock.storage.stores.store import ABSENT, OvertakenError, StoredObject

PAUSE_SECONDS: Final = 1.0
"""How long lines wait at most before they are put, and so what a process that is killed takes with it."""

PATIENCE_SECONDS: Final = 60.0
_logger = logging.getLogger(__name__)


class GrowingObject(io.RawIOBase):
    """Takes lines at once, and puts all that it was given so far, in a thread, once a second at most.

    A store that does not answer is tried again; lines wait in memory meanwhile. After a minute `write` raises
    OSError. `close` puts what is left, and raises OSError when it cannot.

    Raises:
        FileExistsError: there is such an object.
        ConfigError, ExternalError: as for `StoredObject`.
    """

    def __init__(
        self, stored: StoredObject, *, pause: float = PAUSE_SECONDS, patience: float = PATIENCE_SECONDS
    ) -> None:
        super().__init__()
        self._stored = stored
        try:
            self._stored.put_over(b"", ABSENT)
        except OvertakenError:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), stored.uri) from None
        self._pause = pause
        self._patience = patience
        self._content = bytearray()
        self._put_bytes = 0
        self._failing_since: float | None = None
        self._reason: Exception | None = None
        self._wanted = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep_putting, name="penstock-growing-object", daemon=True)
        self._thread.start()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, line: Any) -> int:
        """Adds bytes to the end and returns how many they are; they are in the store about a second later."""
        since = self._failing_since
        if since is not None and time.monotonic() - since > self._patience:
            raise OSError(None, str(self._reason))
        self._content += line
        self._wanted.set()
        return len(line)

    def close(self) -> None:
        """Puts what is left; again is harmless."""
        if self.closed:
            return
        super().close()
        self._ending.set()
        self._wanted.set()
        self._thread.join()
        if self._put_bytes < len(self._content):
            self._put()
        if self._put_bytes < len(self._content):
            lost = len(self._content) - self._put_bytes
            _logger.error("the last %d bytes of %s could not be written: %s", lost, self._stored.uri, self._reason)
            raise OSError(None, str(self._reason))

    def _keep_putting(self) -> None:
        while not self._ending.is_set():
            self._wanted.wait()
            self._wanted.clear()
            if self._put_bytes < len(self._content):
                self._put()
                self._ending.wait(self._pause)
            if self._failing_since is not None:
                self._wanted.set()

    def _put(self) -> None:
        content = bytes(self._content)
        try:
            self._stored.put(content)
        except Exception as error:  # noqa: BLE001 - whatever it is, the thread tries again, or lines are lost in silence
            self._failing_since = self._failing_since or time.monotonic()
            self._reason = error
        else:
            self._put_bytes, self._failing_since = len(content), None
