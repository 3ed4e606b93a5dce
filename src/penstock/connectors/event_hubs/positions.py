"""Where reading begins: the positions of the Event Hubs connector, in the words of Kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from penstock.errors import DefinitionError

_START, _END = "-1", "@latest"
_EARLIEST, _LATEST = -2, -1
"""How Kafka's offsets spell the first and the next event of a partition."""

_EXPECTED: Final = '{"offset": "-1" or "@latest", "seqNo": -1, "enqueuedTime": null, "isInclusive": true}'
_BYTES: Final = "an offset counts bytes, which Kafka does not know"
_BY_NUMBER: Final = "a number is one partition's, and Kafka wants one for each"
_MIXED: Final = "Kafka begins at numbers or at times, not at both"
_POSITION, _POSITIONS = "eventhubs.startingPosition", "eventhubs.startingPositions"


@dataclass(frozen=True, slots=True)
class _Position:
    """One of `offset` (Kafka's, or a number) and `time` (milliseconds) is set."""

    offset: int | None = None
    time: int | None = None


def starting_options(hub: str, position: str | None, positions: str | None) -> dict[str, str]:
    """Returns Kafka's options for `eventhubs.startingPosition` and `…startingPositions`; without both, the end.

    Raises:
        DefinitionError: EVENT_HUBS_POSITION_INVALID, SOURCE_OPTION_REFUSED.
    """
    if positions is not None:
        if position is not None:
            instead = "Name each partition in 'eventhubs.startingPositions', and remove the other"
            raise _refused(_POSITION, "the partitions have positions of their own", instead)
        return _of_partitions(hub, _read(_POSITIONS, positions))
    if position is None:
        return {"startingOffsets": "latest"}
    found = _position(_POSITION, _read(_POSITION, position))
    if found.time is not None:
        return {"startingTimestamp": str(found.time), "startingOffsetsByTimestampStrategy": "latest"}
    if found.offset is None or found.offset >= 0:
        raise _refused(_POSITION, _BY_NUMBER, f"Name each partition in '{_POSITIONS}'")
    return {"startingOffsets": "earliest" if found.offset == _EARLIEST else "latest"}


def _of_partitions(hub: str, positions: Mapping[str, Any]) -> dict[str, str]:
    """The keys are JSON texts: `{"ehName": "hub", "partitionId": 0}`."""
    found: dict[str, _Position] = {}
    for key, value in positions.items():
        place = _read(_POSITIONS, key)
        name, partition = place.get("ehName", hub), place.get("partitionId")
        if name != hub or not isinstance(partition, int) or isinstance(partition, bool):
            raise _invalid(_POSITIONS, f"the key '{key}' is no partition of {hub}")
        found[str(partition)] = _position(_POSITIONS, value)
    times = {partition: each.time for partition, each in found.items() if each.time is not None}
    if not times:
        return {"startingOffsets": json.dumps({hub: {partition: each.offset for partition, each in found.items()}})}
    if len(times) < len(found):
        raise _refused(_POSITIONS, _MIXED, "Give each partition an enqueuedTime, or none")
    times_json = json.dumps({hub: times})
    return {"startingOffsetsByTimestamp": times_json, "startingOffsetsByTimestampStrategy": "latest"}


def _position(option: str, document: Any) -> _Position:
    """As the connector reads it: the offset counts first, then the number, then the time."""
    if not isinstance(document, dict):
        raise _invalid(option, f"{json.dumps(document)} is no position")
    offset, number, time = document.get("offset"), document.get("seqNo", -1), document.get("enqueuedTime")
    if offset is not None:
        if str(offset) not in {_START, _END}:
            raise _refused(option, _BYTES, "Give the 'seqNo' of the event, with 'offset' null")
        return _Position(offset=_EARLIEST if str(offset) == _START else _LATEST)
    if isinstance(number, int) and number >= 0:
        return _Position(offset=number if document.get("isInclusive", True) else number + 1)
    if time is None:
        raise _invalid(option, "it names no position")
    try:
        moment = datetime.fromisoformat(str(time))
    except ValueError:
        raise _invalid(option, f"'{time}' is no time such as 2026-01-31T12:00:00.000Z") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return _Position(time=round(moment.timestamp() * 1000))


def _read(option: str, text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _invalid(option, f"it is not JSON ({error})") from None
    if not isinstance(document, dict):
        raise _invalid(option, "it is no JSON object")
    return document


def _invalid(option: str, reason: str) -> DefinitionError:
    return DefinitionError("EVENT_HUBS_POSITION_INVALID", option=option, reason=reason, expected=_EXPECTED)


def _refused(option: str, reason: str, instead: str) -> DefinitionError:
    return DefinitionError("SOURCE_OPTION_REFUSED", format="eventhubs", option=option, reason=reason, instead=instead)
