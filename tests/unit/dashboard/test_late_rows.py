"""Late rows, on the pages and in the views of the command line."""

from __future__ import annotations

import pytest
from rich.console import Console
from tests.unit.dashboard.conftest import client_of
from tests.unit.observe.story import Story

from penstock.cli.screen.status_view import status_table
from penstock.events import EventLog, EventType, LateRows, Level, UpdateState, builders
from penstock.observe.status.pipeline_status import project_status

DATASET = "shop.hours"


def _story(counted: int, kept: int | None) -> Story:
    story = Story()
    story.update("u1")
    story.dataset(DATASET)
    story.flow(DATASET)
    story.batch(DATASET, 0, 4321, late_rows=0)
    story.batch(DATASET, 1, 10, late_rows=counted)
    if counted:
        late = LateRows("q", 1, counted, kept, f"{DATASET}__late", None if kept else "the files are gone")
        built = builders.late_rows("hours", late)
        story.say(EventType.LATE_ROWS, built, dataset=DATASET, flow="hours", level=Level.WARN)
    story.state(UpdateState.COMPLETED)
    return story


@pytest.mark.parametrize(("counted", "kept", "shown"), [(3, 5, 5), (3, None, 3), (0, None, 0)])
def test_the_rows_that_were_found_are_shown_where_there_are_any(
    storage: str, counted: int, kept: int | None, shown: int
) -> None:
    story = _story(counted, kept)
    with EventLog.open(storage, pipeline_name="p", update_id="u1") as log:
        for event in story.events:
            origin = event.origin
            log.append(
                event.event_type, event.message, event.details, dataset=origin.dataset_name, flow=origin.flow_name
            )
    dataset = project_status(story.events).dataset(DATASET)
    assert dataset is not None
    assert dataset.to_json()["late"] == shown
    client = client_of(storage)
    for text in ("<dt>Late rows</dt>", "Late</th>"):
        assert (text in client.get("/").text) is bool(shown)
    page = client.get(f"/datasets/{DATASET}").text
    assert ("<dt>Late</dt>" in page) is bool(shown)
    assert (f'<dd class="warn">{shown}</dd>' in page) is bool(shown)
    console = Console(width=200)
    with console.capture() as captured:
        console.print(status_table(project_status(story.events)))
    assert ("late" in captured.get()) is bool(shown)


def test_the_event_says_how_to_look_and_why_rows_are_not_kept() -> None:
    messages = [event.message for event in _story(3, 5).events + _story(3, None).events]
    assert "hours: batch 1 dropped 5 late rows, kept in shop.hours__late: penstock late show shop.hours" in messages
    refused = "hours: batch 1 dropped 3 late rows by Spark's count, which could not be kept: the files are gone"
    assert refused in messages
