"""What each flow is declared as, and what its newest batch says: for a page about one flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.events.details import mapping, mappings, text, texts
from penstock.events.flows.column_lineage import lineage_of
from penstock.events.flows.facts import FlowFact, details_of, flow_key
from penstock.events.flows.progress import checkpointed_batch_of
from penstock.events.types import BatchProgress, CheckpointedBatch, Event, EventType
from penstock.graph.schema.column_lineage import ColumnLineage


@dataclass(frozen=True, slots=True)
class FlowDefinition:
    """One flow as the newest definition in the log has it.

    `inputs` are datasets of the pipeline, `sources` (format, description) outside of it; `watermark` is (column,
    delay). `limits` are the options that bound the batches of its sources, by the name of the source. `lineage` is
    that of its columns, None in the log of an older version. `update_id` is of the update that defined it last.
    `last` is its newest batch, `checkpoint` what that batch left in the checkpoint.
    """

    dataset: str
    flow: str
    flow_type: str | None = None
    location: str | None = None
    inputs: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    stateful: tuple[str, ...] = ()
    watermark: tuple[str, str] | None = None
    limits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    plan: str = ""
    lineage: ColumnLineage | None = None
    update_id: str = ""
    last: BatchProgress | None = None
    checkpoint: CheckpointedBatch | None = None


class FlowDefinitionProjection:
    """The newest definitions, kept up to date event by event; a damaged one reads as far as it goes."""

    def __init__(self) -> None:
        self._flows: dict[str, dict[str, FlowDefinition]] = {}
        self._newest = ""

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """Takes an event into account, of which `FlowFacts` made `fact`."""
        if event.event_type is EventType.FLOW_DEFINITION:
            details = details_of(event)
            dataset, flow = str(details.get("output_dataset")), event.origin.flow_name or ""
            self._newest = event.origin.update_id
            self._put(replace(_defined(self._known(dataset, flow), details), update_id=self._newest))
        elif fact is not None and fact.progress is not None:
            known = self._known(fact.dataset, fact.flow)
            checkpoint = checkpointed_batch_of(event) or known.checkpoint
            if checkpoint is not None and known.checkpoint is not None and not checkpoint.settings:
                checkpoint = replace(checkpoint, settings=known.checkpoint.settings)  # recorded once a run
            self._put(replace(known, last=fact.progress, checkpoint=checkpoint))

    def of(self, dataset: str) -> tuple[FlowDefinition, ...]:
        """Returns the flows into `dataset` (`schema.name`), in the order of the log."""
        return tuple(self._flows.get(dataset.casefold(), {}).values())

    def declared(self) -> tuple[FlowDefinition, ...]:
        """Returns the flows that the newest update defined; `of` has earlier ones as well."""
        every = (flow for flows in self._flows.values() for flow in flows.values())
        return tuple(flow for flow in every if flow.update_id == self._newest)

    def _known(self, dataset: str, flow: str) -> FlowDefinition:
        key = flow_key(dataset, flow)
        return self._flows.get(key[0], {}).get(key[1]) or FlowDefinition(dataset, flow)

    def _put(self, flow: FlowDefinition) -> None:
        key = flow_key(flow.dataset, flow.flow)
        self._flows.setdefault(key[0], {})[key[1]] = flow


def _defined(known: FlowDefinition, details: Mapping[str, Any]) -> FlowDefinition:
    watermark = mapping(details, "watermark")
    return replace(
        known,
        flow_type=text(details, "flow_type"),
        location=text(details, "location"),
        inputs=texts(details, "input_datasets"),
        sources=tuple(
            (str(source.get("format") or "source"), str(source.get("description") or ""))
            for source in mappings(details, "sources")
        ),
        stateful=texts(details, "stateful"),
        limits=_limits(details),
        watermark=None if watermark is None else (str(watermark.get("column")), str(watermark.get("delay"))),
        plan=text(details, "explain_text") or "",
        lineage=lineage_of(details),
    )


def _limits(details: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        str(source): {str(option): str(value) for option, value in options.items()}
        for source, options in (mapping(details, "limits") or {}).items()
        if isinstance(options, dict)
    }
