"""The dashboard as each viewer may see it: one site for all to whom the same grants apply."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from penstock.access.grants import Access, Grants
from penstock.access.sight import EVENT_LOG
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.site import PageMaker, Site
from penstock.errors import ExternalError

_FRESH_SECONDS: Final = 1.0
_MOST: Final = 16
"""So many narrowed sites are kept, each with what it has read of the log in memory."""


class Sites:
    """Finds the site of who asks: the `whole` one with the right to read the event log, else one of its tables only."""

    def __init__(self, whole: Site) -> None:
        self.whole = whole
        self._lock = threading.Lock()
        self._access: Access | None = None
        self._read_at = 0.0
        self._narrowed: dict[frozenset[str], Site] = {}

    def of(self, request: Request) -> Site:
        """Returns the site of who asks; a change of grants counts within a second.

        Raises:
            StateError: GRANTS_DAMAGED.
            ConfigError, ExternalError: the storage cannot be read, and never could.
        """
        user = self.whole.viewer(request).user
        with self._lock:
            access = self._current_access()
            if access.allows(user, EVENT_LOG):
                return self.whole
            mine = access.principals(user) & _named(access.grants)
            if mine not in self._narrowed:
                if len(self._narrowed) >= _MOST:
                    self._narrowed.pop(next(iter(self._narrowed)))
                self._narrowed[mine] = self.whole.narrowed_to(
                    LiveLog(self.whole.log.storage, partial(access.sight, user))
                )
            return self._narrowed[mine]

    def shows(self, make: PageMaker) -> Callable[[Request], Response]:
        """Returns the endpoint of a page, which viewers of one site share."""
        return lambda request: self.of(request).shared(make, request)

    def answers(self, make: Callable[[Site, Request], Response]) -> Callable[[Request], Response]:
        """Returns the endpoint of an answer that is not shared."""
        return lambda request: make(self.of(request), request)

    def _current_access(self) -> Access:
        now = time.monotonic()
        if self._access is None or now - self._read_at >= _FRESH_SECONDS:
            try:
                access = self.whole.access()
            except ExternalError:
                if self._access is None:
                    raise
                return self._access  # the pages show what was read, too, and that the storage cannot be reached
            if self._access is not None and access.grants != self._access.grants:
                self._narrowed.clear()
            self._access, self._read_at = access, now
        return self._access


def _named(grants: Grants) -> frozenset[str]:
    return frozenset().union(*grants.by_securable.values())
