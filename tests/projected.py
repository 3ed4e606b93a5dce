"""A projection after some events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from penstock.events import Event
from penstock.observe.log.followed_log import Projection

P = TypeVar("P", bound=Projection)


def projected(projection: P, events: Iterable[Event]) -> P:
    """Returns the projection, which has taken the events into account."""
    for event in events:
        projection.apply(event)
    return projection
