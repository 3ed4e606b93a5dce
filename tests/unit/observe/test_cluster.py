"""What a log says of a cluster that loses parts: status, loads, problems, metrics, and what its totals have of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.observe.story import Story

from penstock.cli.screen.status_view import problems, update_line
from penstock.errors import ExternalError
from penstock.events import ClusterResources, ClusterState, EventType, FlowStatus, Level, UpdateState
from penstock.events.cluster import cluster_resources
from penstock.events.flows.facts import FlowFacts
from penstock.metrics import definitions as metrics
from penstock.metrics.projection import MetricsProjection
from penstock.observe.flows.loads import LoadedStatus
from penstock.observe.lineage import Lineage
from penstock.observe.log.retained_events import RetainedEvents
from penstock.observe.problems import find_problems
from penstock.observe.severity import Severity
from penstock.observe.status.pipeline_status import project_status

T = "s.t"
MASTER = "spark://m:7077"


def said(story: Story, state: ClusterState, executors: int) -> None:
    error = None
    if state is not ClusterState.AVAILABLE:
        error = ExternalError(
            f"CLUSTER_{state.value}", master=MASTER, reason="x", log="y", lost=1, most=2, executors=1, seconds=30
        )
    level = Level.INFO if error is None else Level.WARN
    built = cluster_resources(MASTER, ClusterResources(state, executors))
    story.say(EventType.CLUSTER_RESOURCES, built, error=error, level=level)


def working() -> Story:
    story = Story()
    story.update("u1")
    story.state(UpdateState.RUNNING)
    said(story, ClusterState.AVAILABLE, 2)
    story.dataset(T)
    story.flow(T)
    story.status(T, FlowStatus.RUNNING)
    numbers: dict[str, Any] = {"input_rows_per_second": 5.0, "processed_rows_per_second": 7.0}
    story.batch(T, 0, 10, batch_duration_ms=500, **numbers)
    return story


def loads(story: Story) -> Any:
    projection = LoadedStatus()
    for event in story.events:
        projection.apply(event)
    return projection.look(story.clock.now())


@pytest.mark.parametrize(
    ("state", "executors", "rate", "severity"),
    [
        (ClusterState.EXECUTORS_LOST, 1, 7.0, Severity.WARNING),
        (ClusterState.NO_EXECUTORS, 0, None, Severity.ERROR),
        (ClusterState.MASTER_LOST, 1, 7.0, Severity.WARNING),
        (ClusterState.MASTER_LOST, 0, None, Severity.ERROR),
    ],
)
def test_what_is_lost_is_a_problem_and_what_stands_has_no_rate(
    state: ClusterState, executors: int, rate: float | None, severity: Severity
) -> None:
    story = working()
    said(story, state, executors)
    status, (load,) = loads(story)
    assert [each.processed_rows_per_second for each in status.datasets] == [rate]
    assert (load.processed_rows_per_second, load.busy is None) == (rate, rate is None)
    condition = f"CLUSTER_{state.value}"
    [problem] = find_problems(status, Lineage((), ()))
    assert (problem.condition, problem.severity, problem.since) == (condition, severity, story.clock.now())
    assert [lines[0].partition("]")[0] for lines in problems(status)] == [f"[{condition}"]
    assert f"{executors} executor" in update_line(status)
    assert ("master lost" in update_line(status)) is (state is ClusterState.MASTER_LOST)
    document = status.to_json()["cluster"]
    assert (document["state"], document["num_executors"]) == (state.value, executors)
    assert document["error"]["condition"] == condition


def test_executors_that_come_back_end_it_and_so_does_the_end_of_the_update() -> None:
    story = working()
    said(story, ClusterState.NO_EXECUTORS, 0)
    said(story, ClusterState.AVAILABLE, 2)
    status = project_status(story.events)
    assert status.cluster is not None
    assert (status.cluster.error, status.datasets[0].processed_rows_per_second) == (None, 7.0)
    said(story, ClusterState.NO_EXECUTORS, 0)
    story.state(UpdateState.CANCELED)
    assert project_status(story.events).cluster is None
    story.update("u2")
    assert project_status(story.events).cluster is None, "the next run has another cluster"


def test_metrics_tell_executors_while_the_update_runs() -> None:
    def values(story: Story) -> dict[str, float]:
        projection = MetricsProjection()
        for event in story.events:
            projection.apply(event)
        wanted = {metrics.EXECUTORS, metrics.MASTER_LOST, metrics.PROCESSED_RATE}
        return {metric.name: value for metric, _, value in projection.samples() if metric in wanted}

    story, rate = working(), "penstock_flow_processed_rows_per_second"
    assert values(story) == {"penstock_executors": 2, "penstock_master_lost": 0, rate: 7}
    said(story, ClusterState.MASTER_LOST, 0)
    assert values(story) == {"penstock_executors": 0, "penstock_master_lost": 1}
    story.state(UpdateState.FAILED)
    assert values(story) == {rate: 7}


def test_the_totals_of_a_log_have_the_newest_state_of_the_cluster() -> None:
    story = working()
    said(story, ClusterState.NO_EXECUTORS, 0)
    story.batch(T, 1, 10)
    kept, facts = RetainedEvents(), FlowFacts()
    for line, event in enumerate(story.events):
        kept.take(line, event, facts.apply(event))
    told = [event for line, event in enumerate(story.events) if line in kept.lines()]
    clusters = [event for event in told if event.event_type is EventType.CLUSTER_RESOURCES]
    assert [event.details["cluster_resources"]["state"] for event in clusters] == ["NO_EXECUTORS"]
