"""`penstock top`: what each flow does now, the busiest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.recorded_reads import event_sight
from penstock.cli.screen.console import plural, print_json, stdout, table

if TYPE_CHECKING:
    from penstock.cli.screen.report import Report
    from penstock.observe.flows.loads import FlowLoad
    from penstock.observe.status.pipeline_status import PipelineStatus


class Order(Enum):
    """What `--sort` takes: the greatest comes first, names in the order of the alphabet."""

    BUSY = "busy"
    IN = "in"
    DONE = "done"
    BATCH = "batch"
    LAG = "lag"
    STATE = "state"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class _Picture:
    """The newest update, and its flows as they are sorted."""

    status: PipelineStatus
    flows: tuple[FlowLoad, ...]

    def to_json(self) -> dict[str, Any]:
        update = self.status.update
        return {
            "update": None if update is None else update.to_json(),
            "flows": [flow.to_json() for flow in self.flows],
        }


@project_command(scripts=True)
def top(
    *,
    config: Project,
    sort: Annotated[Order, typer.Option("--sort", help="The order of the rows.", case_sensitive=False)] = Order.BUSY,
    once: Annotated[bool, typer.Option("--once", help="Print it once; so it is where no terminal is.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what each flow does now until Ctrl-C: how busy it is, its rates, what waits for it, its state.

    `busy` is the share of the time that its newest ten batches worked. Reads the event log.
    """
    from penstock.cli.screen.watching import watch
    from penstock.observe.current import with_resources
    from penstock.observe.flows.loads import LoadedStatus
    from penstock.observe.log.followed_log import FollowedLog

    log = FollowedLog(config.storage, LoadedStatus, event_sight(config))

    def look() -> _Picture:
        holder = log.holder()  # before the log is read: a run that begins meanwhile is not taken for dead
        alive = holder is not None and holder.alive()
        status, loads = log.look().look(datetime.now(UTC), writer_alive=alive)
        named = sorted(loads, key=lambda load: (load.dataset, load.flow))
        return _Picture(
            with_resources(status, holder), tuple(sorted(named, key=_ORDERS[sort], reverse=sort is not Order.NAME))
        )

    if as_json:
        print_json(look().to_json())
    elif once or not stdout().is_terminal:
        _report(look()).print()
    else:
        watch(look, _report, document=None)


def _waiting(load: FlowLoad) -> tuple[int, int, int, int]:
    """Sorts by what the sources report, in this order; numbers of unlike units do not compare."""
    lag = load.lag
    return (0, 0, 0, 0) if lag is None else (lag.rows or 0, lag.files or 0, lag.bytes or 0, lag.milliseconds or 0)


_ORDERS: dict[Order, Callable[[FlowLoad], Any]] = {
    Order.BUSY: lambda load: load.busy or 0,
    Order.IN: lambda load: load.input_rows_per_second or 0,
    Order.DONE: lambda load: load.processed_rows_per_second or 0,
    Order.BATCH: lambda load: load.batch_ms or 0,
    Order.LAG: _waiting,
    Order.STATE: lambda load: load.state_rows or 0,
    Order.NAME: lambda load: (load.dataset, load.flow),
}


def _report(picture: _Picture) -> Report:
    from penstock.cli.screen.report import Report
    from penstock.cli.screen.status_view import catching_up, falling_behind, problems, update_line

    flows, head = picture.flows, [update_line(picture.status)]
    if not flows:
        return Report([*head, "No flow has begun; 'penstock run' runs the pipeline."])
    behind = sum(load.falling_behind is not None for load in flows)
    working = sum(load.busy is not None for load in flows)
    return Report(
        [*head, f"{plural(len(flows), 'flow')}, {working:,} at work, {behind:,} falling behind"],
        [*problems(picture.status), *falling_behind(flows)],
        noun="flow",
        rows=len(flows),
        table=lambda rows: _table(flows, rows),
        rest=list(catching_up(flows)),
        in_full="penstock top --once",
    )


def _table(flows: tuple[FlowLoad, ...], rows: int) -> Any:
    """Builds the table; with fewer `rows` than there are flows those in trouble come first, whatever the order."""
    from penstock.cli.screen.status_view import flow_names
    from penstock.events import FlowStatus
    from penstock.observe.numbers import UNKNOWN, duration_ms, rate, short_count

    trouble = {FlowStatus.FAILED, FlowStatus.RETRYING}
    shown = flows
    if rows < len(flows):
        troubled = sorted(flows, key=lambda load: load.status not in trouble and load.falling_behind is None)
        shown = tuple(troubled[:rows])
    names = {id(load): name for load, name in zip(flows, flow_names(flows), strict=True)}
    stateful = any(load.state_rows is not None for load in flows)
    state = (("state", True),) if stateful else ()
    return table(
        [
            ("flow", False),
            ("status", False),
            *((each, True) for each in ("busy", "in", "done", "batch", "waits")),
            *state,
        ],
        (
            (
                names[id(load)],
                "" if load.status is None else load.status.value.lower(),
                UNKNOWN if load.busy is None else f"{100 * load.busy:.0f} %",
                rate(load.input_rows_per_second),
                rate(load.processed_rows_per_second),
                duration_ms(load.batch_ms),
                UNKNOWN if load.lag is None else str(load.lag).partition(" (")[0],
                *((short_count(load.state_rows),) if stateful else ()),
            )
            for load in shown
        ),
    )
