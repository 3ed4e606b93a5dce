"""How a materialized view is refreshed, as an event."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from penstock.events.flows.facts import details_of
from penstock.events.types import Event, EventType


class RefreshMethod(StrEnum):
    """How a materialized view is refreshed: in full, or by what has changed in its inputs."""

    FULL = "full"
    APPEND_ROWS = "append rows"
    CHANGE_ROWS = "change rows"
    MERGE_GROUPS = "merge groups"
    RECOMPUTE_KEYS = "recompute keys"


_DATABRICKS: Final = {
    RefreshMethod.FULL: "MAINTENANCE_TYPE_COMPLETE_RECOMPUTE",
    RefreshMethod.APPEND_ROWS: "MAINTENANCE_TYPE_APPEND_ONLY",
    RefreshMethod.CHANGE_ROWS: "MAINTENANCE_TYPE_ROW_BASED",
    RefreshMethod.MERGE_GROUPS: "MAINTENANCE_TYPE_GROUP_AGGREGATE",
    RefreshMethod.RECOMPUTE_KEYS: "MAINTENANCE_TYPE_GENERIC_AGGREGATE",
}
"""What the event log of Databricks calls it (documentation of `planning_information`)."""


@dataclass(frozen=True, slots=True)
class RefreshChoice:
    """How one refresh is done: the details of a `planning_information` event.

    `why` says why the view is computed in full, or what decided for another method; empty when nothing did. `able` are
    the methods that its query allows.
    `changed_share` is how much of the bytes of its inputs has changed, None when that was not asked. `bytes_read` are
    those of the data files that the refresh reads, its own among them, `bytes_in_full` those that a full one would,
    as the logs of the tables say; None when that is not known. Columns that a query leaves out are not read, in either.
    `estimated` are the seconds that a method was estimated to take now, `measured` those of the newest refresh by it.
    """

    method: RefreshMethod
    why: str = ""
    able: tuple[RefreshMethod, ...] = ()
    changed_share: float | None = None
    bytes_read: int | None = None
    bytes_in_full: int | None = None
    estimated: Mapping[RefreshMethod, float] = field(default_factory=dict)
    measured: Mapping[RefreshMethod, float] = field(default_factory=dict)


def refresh_planned(name: str, choice: RefreshChoice) -> tuple[str, dict[str, Any]]:
    """Returns message and details of the event of a refresh that begins."""
    if choice.method is RefreshMethod.FULL:
        message = f"{name} is computed in full: {choice.why}"
    else:
        share = "" if choice.changed_share is None else f", {choice.changed_share:.2%} of what it reads"
        why = f"; {choice.why}" if choice.why else ""
        message = f"{name} is refreshed by what has changed ({choice.method.value}){share}{why}"
    costs = {RefreshMethod.FULL: choice.bytes_in_full, choice.method: choice.bytes_read}
    techniques = [
        {
            "maintenance_type": _DATABRICKS[method],
            "method": method.value,
            "is_chosen": method is choice.method,
            "is_applicable": True,
            "cost": costs.get(method),
            "estimated_seconds": choice.estimated.get(method),
            "measured_seconds": choice.measured.get(method),
            "incrementalization_issues": [choice.why] if method is RefreshMethod.FULL and choice.why else [],
        }
        for method in (*choice.able, RefreshMethod.FULL)
    ]
    details = {
        "stages": [],
        "reason": choice.why,
        "technique_information": techniques,
        "changed_share": choice.changed_share,
        "bytes_read": choice.bytes_read,
        "bytes_in_full": choice.bytes_in_full,
    }
    return message, {"planning_information": details}


def refresh_choice_of(event: Event) -> RefreshChoice | None:
    """Returns what `refresh_planned` has put into an event; None for another event, and for one that cannot be read."""
    if event.event_type is not EventType.PLANNING_INFORMATION:
        return None
    details = details_of(event)
    with suppress(KeyError, TypeError, ValueError, StopIteration):
        techniques = details["technique_information"]
        chosen = next(each for each in techniques if each["is_chosen"])
        return RefreshChoice(
            RefreshMethod(chosen["method"]),
            str(details.get("reason", " ".join(map(str, chosen["incrementalization_issues"])))),
            tuple(RefreshMethod(each["method"]) for each in techniques if each["method"] != RefreshMethod.FULL),
            details.get("changed_share"),
            details.get("bytes_read"),
            details.get("bytes_in_full"),
            _seconds(techniques, "estimated_seconds"),
            _seconds(techniques, "measured_seconds"),
        )
    return None


def _seconds(techniques: list[dict[str, Any]], name: str) -> dict[RefreshMethod, float]:
    return {RefreshMethod(each["method"]): each[name] for each in techniques if each.get(name) is not None}
