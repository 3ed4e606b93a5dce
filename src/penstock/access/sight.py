"""What a reader sees of the event log: events of the tables that the reader may SELECT, all of it with a grant on it.

Events hold names and types of columns, counts of rows, and in an error perhaps one row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from penstock.events.details import mappings, text, texts
from penstock.events.flows.facts import details_of
from penstock.events.types import Event, EventType
from penstock.graph.elements import DatasetType
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier

EVENT_LOG: Final = Identifier("penstock", "event_log")
"""How grants name the event log; statements call it `event_log`."""

_VIEW: Final[DatasetType] = "VIEW"
_OF_INPUTS: Final = ("explain_text", "column_lineage")
"""What a flow's definition says about the columns that it reads."""


class Sight(Protocol):
    """Shows an event as it is, a part of it, or nothing."""

    def __call__(self, event: Event, /) -> Event | None:
        """Returns what the reader sees; events come in the order of the log."""
        ...


def everything(event: Event, /) -> Event | None:
    """The sight of a reader who may read the event log."""
    return event


class TableEvents:
    """The sight of other readers: events about tables that they may read.

    Of those about no table it leaves how the update went, without what people did and without the text of errors. A
    view is what it reads: it is hidden with any of its inputs. Names of tables are shown, also where one reads another.
    """

    def __init__(self, allows: Callable[[Identifier], bool]) -> None:
        self._allows = allows
        self._known: dict[str, bool] = {}
        self._hidden_views: set[str] = set()

    def __call__(self, event: Event, /) -> Event | None:
        """Returns what the reader sees of the next event."""
        details, about = details_of(event), event.origin.dataset_name
        if event.event_type in _OWNERS:
            about = text(details, _OWNERS[event.event_type]) or about
            self._note_view(event, details, about)
        if about is not None and not self._sees(about):
            return None
        if event.event_type is EventType.FLOW_DEFINITION and not all(map(self._sees, texts(details, "input_datasets"))):
            return _with(event, {**details, **dict.fromkeys(_OF_INPUTS)})
        return event if about is not None else self._of_no_table(event, details)

    def _sees(self, dataset: str) -> bool:
        name = dataset.casefold()
        if name not in self._known:
            self._known[name] = self._allows(Identifier.recorded(dataset))
        return self._known[name] and name not in self._hidden_views

    def _note_view(self, event: Event, details: Mapping[str, Any], about: str | None) -> None:
        is_flow = event.event_type is EventType.FLOW_DEFINITION
        kind, inputs = ("flow_type", "input_datasets") if is_flow else ("dataset_type", "inputs")
        if about is None or details.get(kind) not in (_VIEW, FlowType.VIEW.value):
            return
        if all(map(self._sees, texts(details, inputs))):
            self._hidden_views.discard(about.casefold())
        else:
            self._hidden_views.add(about.casefold())

    def _of_no_table(self, event: Event, details: Mapping[str, Any]) -> Event | None:
        match event.event_type:
            case EventType.CREATE_UPDATE | EventType.CLUSTER_RESOURCES:
                return event
            case EventType.UPDATE_PROGRESS:
                state = text(details, "state") or ""
                return replace(event, message=f"{event.origin.pipeline_name} is {state}", error=None)
            case EventType.COMPACTION:
                return _with(event, {**details, "flows": self._seen_parts(details, "flows")})
            case EventType.PLANNING_INFORMATION if stages := self._seen_parts(details, "stages"):
                return _with(event, {**details, "stages": stages})
        return None

    def _seen_parts(self, details: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
        found = ((part, text(part, "dataset")) for part in mappings(details, name))
        return [part for part, dataset in found if dataset is not None and self._sees(dataset)]


_OWNERS: Final = {
    EventType.DATASET_DEFINITION: "dataset",
    EventType.SINK_DEFINITION: "dataset",
    EventType.FLOW_DEFINITION: "output_dataset",
}
"""What a definition calls the dataset that it is about."""


def _with(event: Event, details: Mapping[str, Any]) -> Event:
    return replace(event, details={event.event_type.value: details})
