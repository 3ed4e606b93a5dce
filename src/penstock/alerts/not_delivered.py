"""Why a destination did not take a message."""

from __future__ import annotations


class NotDelivered(Exception):
    """A destination did not take a message: `reason` says why, without any secret.

    `passing` says that the same message may be taken a moment later.
    """

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
