"""Which reported losses of source data the operator has accepted, for one update."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import ConfigError, did_you_mean
from penstock.events import Event, EventType, FlowStatus, batch_progress_of, flow_status_of
from penstock.events.flows.facts import flow_key
from penstock.graph.flows.flow_names import flows_called
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.spark.failures.source_loss import LOSSES


@dataclass(frozen=True, slots=True)
class ReportedLoss:
    """The condition under which a flow has reported that a source lost data, with the facts of that error."""

    condition: str
    facts: Mapping[str, str]


FlowKey = tuple[Identifier, str]


def accepted_losses(
    names: Sequence[str], graph: ResolvedGraph, events: Iterable[Event], *, default_schema: str
) -> dict[FlowKey, ReportedLoss]:
    """Returns the losses that the flows called `names` reported last; a name is a flow's, or its target's.

    Only what was reported can be accepted, so that a flag that stays in a script does not hide the next loss.

    Raises:
        ConfigError: UNKNOWN_FLOW_ACCEPTED, DATA_LOSS_NOT_REPORTED.
    """
    if not names:
        return {}
    reported = _reported(events)
    accepted: dict[FlowKey, ReportedLoss] = {}
    for name in names:
        flows = _flows_called(name, graph, default_schema)
        lost = {flow: reported[_key(*flow)] for flow in flows if _key(*flow) in reported}
        if not lost:
            raise ConfigError("DATA_LOSS_NOT_REPORTED", dataset=str(flows[0][0]), flow=name)
        accepted |= lost
    return accepted


def needs_data_correction(events: Iterable[Event], flow: FlowKey) -> bool:
    """Whether a flow's newest failure, but for lost data, was about rows that shall be corrected at their source.

    Nothing of such a batch was written, so it may run again with other rows.
    """
    conditions = [
        str(event.error["condition"])
        for event in events
        if event.event_type is EventType.FLOW_PROGRESS
        and event.error
        and event.error.get("condition") not in LOSSES
        and _key_of(event) == _key(*flow)
    ]
    return conditions[-1:] == ["EXPECTATION_FAILED"]


def _flows_called(name: str, graph: ResolvedGraph, default_schema: str) -> list[FlowKey]:
    flows = [(each.declaration.target, each.declaration.name) for each in graph.flows]
    named = flows_called(name, flows, default_schema=default_schema)
    if not named:
        known = sorted({flow for _, flow in flows})
        suggestion = did_you_mean(name, known, also=f"The pipeline's flows: {', '.join(known)}.")
        raise ConfigError("UNKNOWN_FLOW_ACCEPTED", name=name, suggestion=suggestion)
    return named


def _reported(events: Iterable[Event]) -> dict[tuple[str, str], ReportedLoss]:
    """Returns the flows whose newest news is a loss."""
    reported: dict[tuple[str, str], ReportedLoss] = {}
    for event in events:
        if event.event_type is not EventType.FLOW_PROGRESS or event.origin.flow_name is None:
            continue
        key = _key_of(event)
        error = event.error or {}
        if error.get("condition") in LOSSES:
            reported[key] = ReportedLoss(str(error["condition"]), dict(error.get("facts") or {}))
        elif batch_progress_of(event) is not None or flow_status_of(event) is FlowStatus.COMPLETED:
            reported.pop(key, None)
    return reported


def _key_of(event: Event) -> tuple[str, str]:
    return flow_key(str(event.origin.dataset_name), str(event.origin.flow_name))


def _key(target: Identifier, name: str) -> tuple[str, str]:
    return flow_key(str(target), name)
