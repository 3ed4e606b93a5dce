from __future__ import annotations

from datetime import UTC, datetime

from penstock.errors import DefinitionError
from penstock.events import Event, EventType, Level, builders
from penstock.events.types import Origin
from penstock.observe.status.pipeline_status import project_status


class Log:
    """Events of one update after the other, as a run and a drop write them."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def planned(self, *undeclared: str) -> None:
        steps = [("run_streaming_flow", "shop.orders", "orders", "append")]
        self._add(EventType.PLANNING_INFORMATION, builders.planning_information(steps))
        for name in undeclared:
            error = DefinitionError("DATASET_NOT_DECLARED", dataset=name, name=name, word=name)
            self._add(EventType.PLANNING_INFORMATION, builders.planning_warning(error.message), name, error)

    def dropped(self, name: str) -> None:
        self._add(EventType.USER_ACTION, builders.user_action("DROP"), name)

    def _add(
        self, kind: EventType, built: builders.Built, dataset: str | None = None, error: DefinitionError | None = None
    ) -> None:
        sequence = len(self.events)
        origin = Origin(pipeline_name="shop", update_id="u", dataset_name=dataset)
        self.events.append(
            Event(
                str(sequence),
                sequence,
                datetime(2026, 1, 1, tzinfo=UTC),
                origin,
                Level.INFO,
                kind,
                *built,
                error=None if error is None else error.to_json(),
            )
        )


def test_the_status_names_tables_that_are_no_longer_declared() -> None:
    log = Log()
    log.planned("shop.old", "shop.older")
    assert project_status(log.events).undeclared == ("shop.old", "shop.older")
    log.dropped("shop.old")
    assert project_status(log.events).to_json()["undeclared"] == ["shop.older"]
    log.planned()
    assert project_status(log.events).undeclared == ()
