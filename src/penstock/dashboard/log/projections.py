"""Everything that the pages show, as of the last event that was applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.access.sight import Sight, everything
from penstock.dashboard.log.event_window import EventWindow
from penstock.events import Event
from penstock.events.flows.facts import FlowFact, FlowFacts
from penstock.observe.definitions import DefinitionProjection
from penstock.observe.flows.activity import ActivityProjection
from penstock.observe.flows.definitions import FlowDefinitionProjection
from penstock.observe.flows.refreshes import RefreshProjection
from penstock.observe.flows.series import SeriesProjection
from penstock.observe.flows.throughput import ThroughputProjection
from penstock.observe.flows.updates import UpdateFlowsProjection
from penstock.observe.lineage import LineageProjection
from penstock.observe.quality import QualityProjection
from penstock.observe.status.pipeline_status import StatusProjection
from penstock.observe.watermark import WatermarkProjection


@dataclass(slots=True)
class Projections:
    """Each event's numbers are read once (`FlowFacts`) and handed to all of them."""

    status: StatusProjection = field(default_factory=StatusProjection)
    lineage: LineageProjection = field(default_factory=LineageProjection)
    definitions: DefinitionProjection = field(default_factory=DefinitionProjection)
    flows: FlowDefinitionProjection = field(default_factory=FlowDefinitionProjection)
    series: SeriesProjection = field(default_factory=SeriesProjection)
    throughput: ThroughputProjection = field(default_factory=ThroughputProjection)
    quality: QualityProjection = field(default_factory=QualityProjection)
    watermark: WatermarkProjection = field(default_factory=WatermarkProjection)
    activity: ActivityProjection = field(default_factory=ActivityProjection)
    refreshes: RefreshProjection = field(default_factory=RefreshProjection)
    updates: UpdateFlowsProjection = field(default_factory=UpdateFlowsProjection)
    window: EventWindow = field(default_factory=EventWindow)
    damaged: int = 0
    sight: Sight = everything
    _facts: FlowFacts = field(default_factory=FlowFacts)

    def apply(self, event: Event) -> None:
        """Takes what is seen of an event into every projection; one that one cannot read is counted, never raised."""
        seen = self.sight(event)
        if seen is None:
            return
        event = seen
        self.window.add(event)
        takers: tuple[Callable[[Event, FlowFact | None], None], ...] = (
            self.status.take,
            lambda each, _: self.lineage.apply(each),
            lambda each, _: self.definitions.apply(each),
            self.flows.take,
            self.series.take,
            self.throughput.take,
            self.quality.take,
            self.watermark.take,
            self.activity.take,
            self.refreshes.take,
            self.updates.take,
        )
        try:
            fact = self._facts.apply(event)
            for take in takers:
                take(event, fact)
        except Exception:  # noqa: BLE001 - whatever a foreign log holds, the page must stay up
            self.damaged += 1
