from __future__ import annotations

from tests.unit.observe.story import Story

from penstock.events import BatchProgress, EventType, LateRows, builders
from penstock.graph.identifier import Identifier
from penstock.testing.recorded_events import RecordedEvents

HOURS = Identifier("shop", "hours")


class Told(Story):
    def wrote(self, batch: int, late: int | None = None, flow: str = "hours", table: str = "shop.hours") -> Told:
        built = builders.flow_batch("hours", BatchProgress(batch, 10, 10, late_rows=late))
        self.say(EventType.FLOW_PROGRESS, built, dataset=table, flow=flow)
        return self

    def late(self, batch: int, kept: int | None = 1, flow: str = "hours") -> Told:
        reason = None if kept is not None else "there is no place"
        late = LateRows("5e0c", batch, 1, kept, "shop.hours__late", reason)
        self.say(EventType.LATE_ROWS, builders.late_rows("hours", late), dataset="shop.hours", flow=flow)
        return self

    @property
    def events_told(self) -> RecordedEvents:
        told = RecordedEvents()
        for event in self.events:
            told.add(event)
        return told


def test_batches_are_those_of_the_table() -> None:
    told = Told().wrote(0).wrote(1).wrote(0, table="shop.days").events_told
    assert [batch.batch_id for batch in told.batches(Identifier("SHOP", "Hours"))] == [0, 1]
    assert len(told.all_batches()) == 3


def test_late_rows_are_awaited_until_each_batch_was_told_of() -> None:
    story = Told().wrote(0).wrote(1, 2).wrote(1, 1, flow="others")
    assert story.events_told.awaits_late_rows(HOURS)
    assert story.late(1).events_told.awaits_late_rows(HOURS), "those of the other flow"
    assert not story.late(1, flow="others").events_told.awaits_late_rows(HOURS)
    assert not Told().wrote(0, 0).wrote(1).events_told.awaits_late_rows(HOURS)
    assert not story.events_told.awaits_late_rows(Identifier("shop", "days"))


def test_late_rows_that_nobody_knows_are_said() -> None:
    assert Told().wrote(1, 2).late(1).events_told.lost_late_rows(HOURS) is None
    lost = Told().wrote(1, 2).late(1).wrote(2, 2).late(2, kept=None).events_told.lost_late_rows(HOURS)
    assert lost is not None
    assert (lost.batch_id, lost.reason) == (2, "there is no place")
