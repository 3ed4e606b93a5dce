"""The RunEvents of an update: one run for the pipeline, and one for each flow below it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from typing import Any, Final

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset as facet
from openlineage.client.facet_v2 import (
    documentation_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    processing_engine_run,
    schema_dataset,
    storage_dataset,
    symlinks_dataset,
)

from penstock.events import Event, EventType, FlowStatus, UpdateState
from penstock.events.codec import format_timestamp
from penstock.events.details import mappings
from penstock.events.flows.column_lineage import lineage_of
from penstock.events.flows.facts import FlowFact, FlowFacts, details_of, flow_key
from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn
from penstock.openlineage.graph import DeclaredGraph, Definition
from penstock.openlineage.names import DatasetName

PRODUCER: Final = f"https://pypi.org/project/penstock/{metadata.version('penstock')}"
_ENDS: Final = {
    FlowStatus.COMPLETED: RunState.COMPLETE,
    FlowStatus.FAILED: RunState.FAIL,
    FlowStatus.STOPPED: RunState.ABORT,
}
_UPDATE_ENDS: Final = {
    UpdateState.COMPLETED.value: RunState.COMPLETE,
    UpdateState.FAILED.value: RunState.FAIL,
    UpdateState.CANCELED.value: RunState.ABORT,
}


@dataclass(slots=True)
class _FlowRun:
    """One flow that has begun in this update and has not ended."""

    dataset: str
    flow: str
    reported_at: datetime
    rows: int = 0


class RunEvents:
    """Turns the events of a log, in their order, into RunEvents. Not thread-safe.

    A flow's run begins with START and ends with COMPLETE, FAIL or ABORT; between them RUNNING reports at most every
    `interval` seconds how many rows were written so far.
    """

    def __init__(self, pipeline: str, namespace: str, *, interval: float = 60.0) -> None:
        self._pipeline = pipeline
        self._namespace = namespace
        self._interval = interval
        self._graph = DeclaredGraph(namespace)
        self._facts = FlowFacts()
        self._running: dict[tuple[str, str], _FlowRun] = {}
        self._update_id = ""

    def apply(self, event: Event) -> Iterator[RunEvent]:
        """Yields what is to be sent because of one event."""
        if not event.event_type.of_its_update:
            return
        self._graph.apply(event)
        fact = self._facts.apply(event)
        if event.event_type is EventType.CREATE_UPDATE:
            self._running, self._update_id = {}, event.origin.update_id
            yield self._of_pipeline(RunState.START, event)
        elif event.event_type is EventType.UPDATE_PROGRESS:
            yield from self._progressed(event)
        elif fact is not None:
            yield from self._flow(event, fact)

    def _progressed(self, event: Event) -> Iterator[RunEvent]:
        state = str(details_of(event).get("state"))
        if state == UpdateState.RUNNING.value:
            yield self._of_pipeline(RunState.RUNNING, event)
        elif state in _UPDATE_ENDS:
            for run in list(self._running.values()):  # its process was interrupted, or its end was not logged
                yield self._end(run, RunState.ABORT, event)
            yield self._of_pipeline(_UPDATE_ENDS[state], event)

    def _flow(self, event: Event, fact: FlowFact) -> Iterator[RunEvent]:
        key = flow_key(fact.dataset, fact.flow)
        run = self._running.get(key)
        if run is None and (fact.progress is not None or fact.status in {FlowStatus.STARTING, FlowStatus.RUNNING}):
            run = self._running[key] = _FlowRun(fact.dataset, fact.flow, event.timestamp)
            yield self._of_flow(run, RunState.START, event)
        if run is None:
            return
        if fact.progress is not None and not fact.repeats:
            run.rows += fact.progress.num_output_rows
            if (event.timestamp - run.reported_at).total_seconds() >= self._interval:
                run.reported_at = event.timestamp
                yield self._of_flow(run, RunState.RUNNING, event)
        if fact.status in _ENDS:
            yield self._end(run, _ENDS[fact.status], event)

    def _end(self, run: _FlowRun, state: RunState, event: Event) -> RunEvent:
        del self._running[flow_key(run.dataset, run.flow)]
        return self._of_flow(run, state, event)

    def _of_pipeline(self, state: RunState, event: Event) -> RunEvent:
        return RunEvent(
            eventTime=format_timestamp(event.timestamp),
            eventType=state,
            producer=PRODUCER,
            run=Run(self._run_id(), {**_engine(), **_error(state, event)}),
            job=Job(self._namespace, self._pipeline, {"jobType": _job_type(streaming=True, kind="PIPELINE")}),
        )

    def _of_flow(self, run: _FlowRun, state: RunState, event: Event) -> RunEvent:
        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(self._run_id()),
            job=parent_run.Job(self._namespace, self._pipeline),
            producer=PRODUCER,
        )
        definition = self._graph.flow(run.dataset, run.flow)
        streaming = self._graph.streams(run.dataset, run.flow)
        job: dict[str, Any] = {"jobType": _job_type(streaming=streaming, kind="FLOW")}
        if definition.get("comment"):
            job["documentation"] = documentation_job.DocumentationJobFacet(
                str(definition["comment"]), producer=PRODUCER
            )
        target = self._graph.dataset(run.dataset)
        output = OutputDataset(
            *self._graph.name(run.dataset),
            outputFacets={
                "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                    rowCount=run.rows, producer=PRODUCER
                )
            },
            facets={**self._facets(target), **self._columns(run, target)},
        )
        inputs = [
            InputDataset(*name, facets=self._facets(dataset))
            for name, dataset in self._graph.inputs(run.dataset, run.flow).items()
        ]
        return RunEvent(
            eventTime=format_timestamp(event.timestamp),
            eventType=state,
            producer=PRODUCER,
            run=Run(self._run_id(run), {"parent": parent, **_engine(), **_error(state, event)}),
            job=Job(self._namespace, f"{self._pipeline}.{run.dataset}.{run.flow}", job),
            inputs=inputs,
            outputs=[output],
        )

    def _run_id(self, run: _FlowRun | None = None) -> str:
        """Returns the id of a run: the update's, or one that follows from it."""
        try:
            update = uuid.UUID(self._update_id)
        except ValueError:
            update = uuid.uuid5(uuid.NAMESPACE_OID, self._update_id)
        return str(update if run is None else uuid.uuid5(update, "/".join(flow_key(run.dataset, run.flow))))

    def _columns(self, run: _FlowRun, target: Definition) -> dict[str, Any]:
        """Returns what the columns of a flow's output are made of; nothing for a function's output."""
        lineage = lineage_of(self._graph.flow(run.dataset, run.flow))
        if lineage is None or target.get("format") == "foreach_batch":
            return {}
        name = self._graph.input_name(run.dataset, run.flow)
        found = _column_lineage(lineage, name)
        return {} if found is None else {"columnLineage": found}

    def _facets(self, definition: Definition) -> dict[str, Any]:
        """Returns what is known of a dataset; nothing of one outside of the pipeline."""
        found: dict[str, Any] = {}
        if definition.get("schema"):
            found["schema"] = schema_dataset.SchemaDatasetFacet(
                [
                    schema_dataset.SchemaDatasetFacetFields(
                        name=str(column.get("name")),
                        type=column.get("type"),
                        description=column.get("comment"),
                        ordinal_position=position,
                    )
                    for position, column in enumerate(mappings(definition, "schema"), start=1)
                ],
                producer=PRODUCER,
            )
        if definition.get("comment"):
            found["documentation"] = documentation_dataset.DocumentationDatasetFacet(
                str(definition["comment"]), producer=PRODUCER
            )
        if definition.get("path"):
            name = DatasetName(self._namespace, str(definition["dataset"]))
            symlink = symlinks_dataset.Identifier(*name, type="TABLE")
            found["symlinks"] = symlinks_dataset.SymlinksDatasetFacet([symlink], producer=PRODUCER)
            found["storage"] = storage_dataset.StorageDatasetFacet("delta", "parquet", producer=PRODUCER)
        return found


def _column_lineage(
    lineage: ColumnLineage, name: Callable[[str], DatasetName]
) -> facet.ColumnLineageDatasetFacet | None:
    """Returns the facet; None when nothing is known. A column that could not be followed at all is left out.

    `name` gives what OpenLineage calls a dataset of `InputColumn.dataset`.
    """
    fields = {
        column.name: facet.Fields(_input_fields(column.inputs, name))
        for column in lineage.columns
        if column.resolved or column.inputs
    }
    if not fields:
        return None
    return facet.ColumnLineageDatasetFacet(fields, _input_fields(lineage.rows, name), producer=PRODUCER)


def _input_fields(columns: Sequence[InputColumn], name: Callable[[str], DatasetName]) -> list[facet.InputField]:
    return [
        facet.InputField(
            *name(each.dataset),
            field=each.column,
            transformations=[
                facet.Transformation("DIRECT" if kind.direct else "INDIRECT", kind.value) for kind in each.how
            ],
        )
        for each in columns
    ]


def _job_type(*, streaming: bool, kind: str) -> job_type_job.JobTypeJobFacet:
    processing = "STREAMING" if streaming else "BATCH"
    return job_type_job.JobTypeJobFacet(processing, "PENSTOCK", kind, producer=PRODUCER)


def _engine() -> dict[str, Any]:
    version = metadata.version("pyspark")
    return {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version, "spark", metadata.version("penstock"), producer=PRODUCER
        )
    }


def _error(state: RunState, event: Event) -> dict[str, Any]:
    if state is not RunState.FAIL:
        return {}
    error = event.error or {}
    message = f"[{error['condition']}] {error.get('message')}" if error.get("condition") else event.message
    return {"errorMessage": error_message_run.ErrorMessageRunFacet(message, "PYTHON", producer=PRODUCER)}
