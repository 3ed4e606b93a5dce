"""What each dataset is declared as: comment, place in the files, columns and rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.events.details import mappings, text
from penstock.events.flows.facts import details_of
from penstock.events.types import Event, EventType


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column; `type` is Spark's simple string."""

    name: str
    type: str
    comment: str | None


@dataclass(frozen=True, slots=True)
class RuleDefinition:
    """One expectation; `action` is warn, drop, fail or quarantine."""

    name: str
    constraint: str
    action: str


@dataclass(frozen=True, slots=True)
class DatasetDefinition:
    """The newest definition of one dataset in the log; `location` is `file:line`."""

    name: str
    type: str | None = None
    comment: str | None = None
    location: str | None = None
    path: str | None = None
    columns: tuple[ColumnDefinition, ...] = ()
    rules: tuple[RuleDefinition, ...] = ()


class DefinitionProjection:
    """The newest definitions, kept up to date event by event; a damaged one reads as far as it goes."""

    def __init__(self) -> None:
        self._definitions: dict[str, DatasetDefinition] = {}

    def apply(self, event: Event) -> None:
        """Takes one event into account; only `dataset_definition` and `sink_definition` change anything."""
        if event.event_type not in {EventType.DATASET_DEFINITION, EventType.SINK_DEFINITION}:
            return
        details = details_of(event)
        if isinstance(details.get("dataset"), str):
            self._definitions[details["dataset"]] = _definition(details)

    def of(self, dataset: str) -> DatasetDefinition:
        """Returns the definition of `dataset` (`schema.name`); an empty one when the log has none."""
        return self._definitions.get(dataset, DatasetDefinition(dataset))


def _definition(details: Mapping[str, Any]) -> DatasetDefinition:
    return DatasetDefinition(
        name=details["dataset"],
        type=text(details, "dataset_type"),
        comment=text(details, "comment"),
        location=text(details, "location"),
        path=text(details, "path"),
        columns=tuple(
            ColumnDefinition(str(column.get("name", "")), str(column.get("type", "")), text(column, "comment"))
            for column in mappings(details, "schema")
        ),
        rules=tuple(
            RuleDefinition(str(rule.get("name", "")), str(rule.get("constraint", "")), str(rule.get("action", "")))
            for rule in mappings(details, "expectations")
        ),
    )
