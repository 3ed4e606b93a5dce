"""How long something that should happen again and again has not happened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(slots=True)
class Silence:
    """The last sign of life of something, and since when its signs have come without too long a pause."""

    last: datetime
    lively_since: datetime

    @classmethod
    def from_now(cls, moment: datetime) -> Silence:
        """Returns the silence of something that was never heard of, and gets its time from `moment` on."""
        return cls(moment, moment)

    def end(self, moment: datetime, limit: timedelta) -> None:
        """There is a sign of life."""
        if moment - self.last > limit:
            self.lively_since = moment
        self.last = max(self.last, moment)

    def too_long_since(self, now: datetime, limit: timedelta) -> datetime | None:
        """Returns since when it is silent for longer than `limit`, None when it is not."""
        return self.last + limit if now - self.last > limit else None
