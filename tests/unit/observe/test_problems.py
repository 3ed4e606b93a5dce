"""What is wrong, since when, which rows, and what to type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.projected import projected
from tests.recorded.build import FIRST_UPDATE, RECORDED, START, SteppedClock, first_update

from penstock.errors import ExternalError, PenstockError
from penstock.events import BatchProgress, Event, EventLog, EventReader, EventType, FlowStatus, Level
from penstock.events import builders as say
from penstock.events.alerts import Alert, alert
from penstock.observe.flows.throughput import ThroughputProjection
from penstock.observe.lineage import LineageProjection
from penstock.observe.problems import Problem, find_problems
from penstock.observe.severity import Severity
from penstock.observe.status.pipeline_status import project_status


def problems_of(events: list[Event], *, writer_alive: bool | None = None) -> tuple[Problem, ...]:
    throughput = ThroughputProjection()
    for event in events:
        throughput.apply(event)
    status = project_status(events, writer_alive=writer_alive)
    return find_problems(status, projected(LineageProjection(), events).lineage(), throughput.all())


def test_a_failed_flow_with_its_row_and_whom_it_holds_up(tmp_path: Path) -> None:
    first_update(str(tmp_path))
    (problem,) = problems_of(EventReader(str(tmp_path)).poll())
    assert problem.severity is Severity.ERROR
    assert problem.dataset == "shop.hourly_revenue"
    assert problem.condition == "EXPECTATION_FAILED"
    assert problem.place == "transformations/orders.py:43"
    assert problem.row == '{"hour":"2026-03-01T08:00:00Z","revenue":-12.5}'
    assert problem.holds_up == ("shop.revenue_report",)
    assert problem.since is not None
    assert START < problem.since < START + timedelta(minutes=1)
    assert problem.commands == ("penstock run", "penstock explain EXPECTATION_FAILED")


def test_nothing_is_wrong_after_the_correction() -> None:
    assert problems_of(EventReader(str(RECORDED)).poll(), writer_alive=False) == ()


def test_an_update_whose_process_is_gone() -> None:
    events = [each for each in EventReader(str(RECORDED)).poll() if each.origin.update_id == FIRST_UPDATE][:-4]
    assert "UPDATE_INTERRUPTED" in {each.condition for each in problems_of(events, writer_alive=False)}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[[str], Orders]]:
    """Starts runs of one storage, one after another, a minute a step."""
    clock, started = SteppedClock(START), list[Orders]()

    def start(update: str) -> Orders:
        started.append(Orders(str(tmp_path), update, clock))
        return started[-1]

    yield start
    for orders in started:
        orders.log.close()


class Orders:
    """A run of one flow, written step by step."""

    def __init__(self, storage: str, update: str, clock: SteppedClock) -> None:
        self.clock = clock
        self.log = EventLog.open(storage, pipeline_name="orders", update_id=update, clock=clock)
        self.log.append(
            EventType.CREATE_UPDATE, *say.create_update(pipeline="orders", cause="USER_ACTION", version="1")
        )
        defined = say.dataset_definition("shop.orders", dataset_type="STREAMING_TABLE")
        self.log.append(EventType.DATASET_DEFINITION, *defined, dataset="shop.orders")

    def fails(self) -> None:
        self.clock.step(60)
        error = ExternalError("KAFKA_UNREACHABLE", servers="broker:9092")
        told = say.flow_status("orders", FlowStatus.FAILED, reason=error.message)
        self.log.append(
            EventType.FLOW_PROGRESS, *told, dataset="shop.orders", flow="orders", level=Level.ERROR, error=error
        )

    def works(self, batch: int, *, waiting: int = 0, status: FlowStatus = FlowStatus.RUNNING) -> None:
        self.clock.step(60)
        done = BatchProgress(batch, 10, 10, batch_duration_ms=1000, backlog_records=waiting)
        told = say.flow_batch("orders", done, status=status)
        self.log.append(EventType.FLOW_PROGRESS, *told, dataset="shop.orders", flow="orders")

    def alerted(self, rule: str, error: PenstockError) -> Alert:
        self.clock.step(60)
        since = self.clock.now() - timedelta(minutes=1)
        told = Alert(rule, "shop.orders", "orders", error.to_json(), since, self.clock.now())
        self.log.append(EventType.ALERT, *alert(told), dataset="shop.orders", level=Level.WARN, error=error)
        return told


def test_a_failure_goes_on_over_restarts_until_a_batch_succeeds(run: Callable[[str], Orders], tmp_path: Path) -> None:
    first = run("one")
    first.works(0)
    first.fails()
    began = first.clock.now()
    second = run("two")
    told = say.flow_status("orders", FlowStatus.RUNNING)
    second.log.append(EventType.FLOW_PROGRESS, *told, dataset="shop.orders", flow="orders")
    second.fails()
    (problem,) = problems_of(EventReader(str(tmp_path)).poll())
    assert problem.since == began
    second.works(1)
    second.fails()
    (problem,) = problems_of(EventReader(str(tmp_path)).poll())
    assert problem.since == second.clock.now()


def test_falling_behind_is_a_warning_while_the_update_runs(run: Callable[[str], Orders], tmp_path: Path) -> None:
    orders = run("one")
    for batch in range(4):
        orders.works(batch, waiting=100 * (batch + 1))
    (problem,) = problems_of(EventReader(str(tmp_path)).poll())
    assert problem.severity is Severity.WARNING
    assert "grew from 100 to 400 rows" in problem.message
    assert problem.since == START + timedelta(minutes=1)
    (gone,) = problems_of(EventReader(str(tmp_path)).poll(), writer_alive=False)
    assert gone.condition == "UPDATE_INTERRUPTED"


def test_errors_come_before_warnings(run: Callable[[str], Orders], tmp_path: Path) -> None:
    orders = run("one")
    for batch in range(4):
        orders.works(batch, waiting=100 * (batch + 1))
    orders.fails()
    found = problems_of(EventReader(str(tmp_path)).poll())
    assert [each.severity for each in found] == [Severity.ERROR, Severity.WARNING]


def test_what_only_an_alert_tells_of_is_a_problem_until_it_is_over(
    run: Callable[[str], Orders], tmp_path: Path
) -> None:
    orders = run("one")
    orders.works(0)
    stale = ExternalError("TABLE_STALE", table="shop.orders", age="2 hours", limit="1 hour")
    told = orders.alerted("freshness", stale)
    (problem,) = problems_of(EventReader(str(tmp_path)).poll())
    assert (problem.severity, problem.condition, problem.dataset) == (Severity.WARNING, "TABLE_STALE", "shop.orders")
    assert problem.since == told.since
    assert problem.fix
    assert "penstock alerts check" in problem.commands
    assert problem.alert is not None
    assert problem.alert.id == told.id
    over = replace(told, resolved=orders.clock.now())
    orders.log.append(EventType.ALERT, *alert(over), dataset="shop.orders")
    assert problems_of(EventReader(str(tmp_path)).poll()) == ()


def test_an_error_of_which_an_alert_tells_is_one_problem(run: Callable[[str], Orders], tmp_path: Path) -> None:
    orders = run("one")
    orders.fails()
    began = orders.clock.now()
    told = orders.alerted("failed", ExternalError("KAFKA_UNREACHABLE", servers="another:9092"))
    (problem,) = problems_of(EventReader(str(tmp_path)).poll())
    assert (problem.severity, problem.since) == (Severity.ERROR, began)
    assert problem.alert is not None
    assert problem.alert.id == told.id
    assert problem.message == "No Kafka bootstrap server answers: broker:9092."


def test_an_alert_of_another_table_is_a_problem_of_its_own(run: Callable[[str], Orders], tmp_path: Path) -> None:
    orders = run("one")
    orders.fails()
    told = Alert("failed", "shop.items", "items", {"condition": "KAFKA_UNREACHABLE", "message": "m"}, START, START)
    orders.log.append(EventType.ALERT, *alert(told), dataset="shop.items", level=Level.WARN)
    found = {each.dataset: each.alert is not None for each in problems_of(EventReader(str(tmp_path)).poll())}
    assert found == {"shop.orders": False, "shop.items": True}
