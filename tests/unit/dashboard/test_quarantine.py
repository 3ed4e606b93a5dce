"""Rows put aside, on the pages and in the views of the command line."""

from __future__ import annotations

import pytest
from rich.console import Console
from tests.unit.dashboard.conftest import client_of
from tests.unit.observe.story import Story

from penstock.cli.screen.status_view import status_table
from penstock.events import BatchProgress, EventLog, EventType, ExpectationCount, UpdateState, builders
from penstock.observe.status.pipeline_status import project_status

DATASET = "shop.orders"


def _story(aside: int) -> Story:
    story = Story()
    story.update("u1")
    action = "quarantine" if aside else "drop"
    story.dataset(DATASET, expectations=(("positive", "amount > 0", action),))
    story.flow(DATASET)
    count = ExpectationCount("positive", DATASET, 4321, aside, action)
    progress = BatchProgress(0, 4321 + aside, 4321, quarantined_records=aside, expectations=(count,))
    story.say(EventType.FLOW_PROGRESS, builders.flow_batch("orders", progress), dataset=DATASET, flow="orders")
    moved = BatchProgress(7, 3, 3, quarantined_records=-3)
    for _ in range(2 if aside else 0):  # a replay that was repeated after a crash tells of the same batch again
        story.say(
            EventType.FLOW_PROGRESS,
            builders.flow_batch("quarantine replay", moved),
            dataset=DATASET,
            flow="quarantine replay",
        )
    story.state(UpdateState.COMPLETED)
    return story


def _log(storage: str, story: Story) -> None:
    with EventLog.open(storage, pipeline_name="p", update_id="u1") as log:
        for event in story.events:
            log.append(
                event.event_type,
                event.message,
                dict(event.details),
                dataset=event.origin.dataset_name,
                flow=event.origin.flow_name,
            )


def _table(story: Story) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(status_table(project_status(story.events)))
    return captured.get()


def test_replayed_rows_count_for_the_table_once() -> None:
    dataset = project_status(_story(87).events).dataset(DATASET)
    assert dataset is not None
    assert (dataset.rows, dataset.quarantined, dataset.dropped) == (4324, 84, 0)
    assert dataset.to_json()["quarantined"] == 84


@pytest.mark.parametrize(("aside", "shown"), [(87, True), (0, False)])
def test_the_numbers_are_shown_where_a_rule_quarantines(storage: str, aside: int, shown: bool) -> None:
    story = _story(aside)
    _log(storage, story)
    client = client_of(storage)
    for text in ("Rows in quarantine", "Quarantined</th>"):
        assert (text in client.get("/").text) is shown
    page = client.get(f"/datasets/{DATASET}").text
    for text in ("<dt>Quarantined</dt>", "goes to quarantine", ">84<"):
        assert (text in page) is shown
    assert ("quarantined" in _table(story)) is shown
    assert (" 84 " in _table(story)) is shown
