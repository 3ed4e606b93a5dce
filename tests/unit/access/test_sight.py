"""What who may not read the event log sees of events that are about no table, or about several."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.access.grants import Access, Grants, Securable
from penstock.access.sight import EVENT_LOG, TableEvents, everything
from penstock.events import Event, EventType, Level, UpdateState, builders
from penstock.events.flows.compaction import compaction
from penstock.events.flows.facts import details_of
from penstock.events.types import Origin
from penstock.graph.identifier import Identifier

ORDERS, PEOPLE = Identifier("shop", "orders"), Identifier("shop", "people")


def event(kind: EventType, built: tuple[str, Mapping[str, Any]], dataset: str | None = None, **more: Any) -> Event:
    origin = Origin("shop pipeline", "u", dataset)
    return Event("e", 1, datetime.now(UTC), origin, Level.INFO, kind, *built, **more)


def sight() -> TableEvents:
    return TableEvents(lambda table: table != PEOPLE)


def test_an_update_that_failed_is_without_the_rows_that_its_error_names() -> None:
    built = builders.update_progress(UpdateState.FAILED, pipeline="shop pipeline", reason="shop.people: name 'Ada'")
    seen = sight()(event(EventType.UPDATE_PROGRESS, built, error={"message": "name 'Ada'"}))
    assert seen is not None
    assert (seen.message, seen.error) == ("shop pipeline is FAILED", None)
    assert details_of(seen) == {"state": "FAILED"}


def test_totals_and_plans_are_those_of_tables_that_are_seen() -> None:
    totals = sight()(event(EventType.COMPACTION, compaction(5, [{"dataset": str(t)} for t in (ORDERS, PEOPLE)])))
    assert totals is not None
    assert details_of(totals)["flows"] == [{"dataset": "shop.orders"}]
    stages = [("refresh", str(table), None, "its column age is new") for table in (ORDERS, PEOPLE)]
    planned = sight()(event(EventType.PLANNING_INFORMATION, builders.planning_information(stages)))
    assert planned is not None
    assert [each["dataset"] for each in details_of(planned)["stages"]] == ["shop.orders"]
    warned = builders.planning_warning("shop.people has no column age")
    assert sight()(event(EventType.PLANNING_INFORMATION, warned)) is None


@pytest.mark.parametrize("kind", [EventType.USER_ACTION, EventType.HOOK_PROGRESS, EventType.ALERT])
def test_what_people_and_their_hooks_did_is_hidden(kind: EventType) -> None:
    assert sight()(event(kind, ("SELECT name FROM people", {}))) is None
    assert sight()(event(kind, ("orders are late", {}), "shop.orders")) is not None


def test_a_view_is_hidden_with_what_it_reads_however_deep() -> None:
    seen = sight()
    for view, reads in (("adults", "people"), ("names", "adults"), ("totals", "orders")):
        built = builders.dataset_definition(f"shop.{view}", dataset_type="VIEW", inputs=[f"shop.{reads}"])
        shown = seen(event(EventType.DATASET_DEFINITION, built, f"shop.{view}"))
        assert (shown is not None) == (view == "totals")
    table = builders.dataset_definition("shop.copy", dataset_type="STREAMING_TABLE", inputs=["shop.people"])
    assert seen(event(EventType.DATASET_DEFINITION, table, "shop.copy")) is not None, "a table of its own"


def test_the_log_is_open_to_those_to_whom_nothing_is_closed() -> None:
    grants = Grants().with_change(Securable.of_table(PEOPLE), "hr", granted=True)
    access = Access(grants, {"hr": frozenset({"ada"})}, event_table=Identifier("shop", "events"))
    assert access.sight("ada") is everything
    assert isinstance(access.sight("eve"), TableEvents)
    assert [access.allows(user, Identifier("shop", "events")) for user in ("ada", "eve")] == [True, False]
    opened = Access(grants.with_change(Securable.of_table(EVENT_LOG), "eve", granted=True), access.roles)
    assert opened.sight("eve") is everything
    assert isinstance(opened.sight("ada"), TableEvents), "a log with grants is read by those who have one"
    assert isinstance(Access(Grants(), default_deny=True).sight("ada"), TableEvents)
