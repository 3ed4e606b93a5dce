"""A pipeline's status as a person reads it: shared by `status`, the live view of `run` and its summary."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.cli.screen.console import clean, plural, table
from penstock.cli.screen.report import Report
from penstock.observe.numbers import count, duration_ms, percent, rate, short_count
from penstock.observe.status.pipeline_status import STATUS_PRECEDENCE

if TYPE_CHECKING:
    from penstock.cli.screen.fast_table import FastTable
    from penstock.observe.flows.loads import FlowLoad
    from penstock.observe.status.pipeline_status import DatasetStatus, PipelineStatus

_STYLES = {
    "RUNNING": "cyan",
    "COMPLETED": "green",
    "FAILED": "bold red",
    "SKIPPED": "yellow",
    "RETRYING": "bold yellow",
    "STOPPED": "yellow",
}


def report(status: PipelineStatus) -> Report:
    """Returns what `penstock status` shows."""
    head = [update_line(status)]
    if status.update is None:
        return Report([*head, "'penstock run' runs the pipeline."])
    quality, accounts = quality_table(status), accounts_line(status)
    rest = [part for part in (quality, accounts) if part is not None]
    rest += [
        f"{name} is no longer declared; its table stays. 'penstock drop {name}' removes it."
        for name in status.undeclared
    ]
    return _report_of(status, head, list(problems(status)), rest)


def live_report(status: PipelineStatus, flows: Sequence[FlowLoad]) -> Report:
    """Returns what `penstock run` shows on a terminal; `flows` say which fall behind and how long it takes yet."""
    wrong = [*problems(status), *falling_behind(flows)]
    return _report_of(status, [update_line(status, flows=flows)], wrong, list(catching_up(flows)))


def _report_of(
    status: PipelineStatus, head: Sequence[str], wrong: Sequence[Sequence[str]], rest: Sequence[Any]
) -> Report:
    rows = len(_visible(status.datasets))
    return Report(head, wrong, rows=rows, table=lambda shown: status_table(status, rows=shown), rest=rest)


def status_table(status: PipelineStatus, *, rows: int | None = None) -> Any:
    """Builds the table of datasets: status, rows, rates, the last batch, expectations.

    Where that is too wide, numbers are short and only names are folded. With fewer `rows` than there are datasets it
    has those that are in trouble, then the busiest.
    """
    shown = _visible(status.datasets)
    if rows is not None and rows < len(shown):
        shown = sorted(shown, key=_what_matters)[:rows]
    return _Fitting(status, shown)


def _what_matters(dataset: DatasetStatus) -> tuple[bool, int, float]:
    """Sorts datasets in trouble before others, then by their state, then the busiest first."""
    sound = dataset.error is None and dataset.watermark_warning is None
    sound = sound and (dataset.accounts is None or dataset.accounts.error is None)
    state = len(STATUS_PRECEDENCE) if dataset.status is None else STATUS_PRECEDENCE.index(dataset.status)
    return sound, state, -(dataset.processed_rows_per_second or 0)


def _status_table(status: PipelineStatus, shown: Iterable[DatasetStatus], *, narrow: bool) -> FastTable:
    from penstock.cli.screen.fast_table import Cell, Column, FastTable

    number = short_count if narrow else count
    visible = _visible(status.datasets)
    with_quarantine = any(dataset.has_quarantine for dataset in visible)
    late = any(dataset.late for dataset in visible)
    headings = (
        "rows",
        "drop" if narrow else "dropped",
        *((("quar" if narrow else "quarantined"),) if with_quarantine else ()),
        *(("late",) if late else ()),
        *("in", "done", "batch", "pass" if narrow else "passed"),
    )
    columns = [
        Column("dataset"),
        Column("status", whole=True),
        *(Column(heading, numeric=True, whole=True) for heading in headings),
    ]
    names, rows = short_names(status.datasets), []
    for dataset in shown:
        word = "" if dataset.status is None else dataset.status.value
        numbers = (
            number(dataset.rows),
            number(dataset.dropped),
            *((number(dataset.quarantined),) if with_quarantine else ()),
            *((number(dataset.late),) if late else ()),
            rate(dataset.input_rows_per_second),
            rate(dataset.processed_rows_per_second),
            duration_ms(dataset.last_batch_duration_ms),
            percent(dataset.passed, dataset.checked),
        )
        rows.append([Cell(names[dataset.name]), Cell(word.lower(), _STYLES.get(word, "")), *map(Cell, numbers)])
    return FastTable(columns, rows, gap=0 if narrow else 1)


class _Fitting:
    """Shows datasets in a wide table where it fits, else in a narrow one."""

    def __init__(self, status: PipelineStatus, shown: Sequence[DatasetStatus]) -> None:
        self._status = status
        self._shown = shown

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Called by rich with the place that there is."""
        wide = _status_table(self._status, self._shown, narrow=False)
        yield wide if wide.width() <= options.max_width else _status_table(self._status, self._shown, narrow=True)


def quality_table(status: PipelineStatus) -> Any | None:
    """Builds the table of expectations with their counts, or None when there are none."""
    names = short_names(status.datasets)
    rows = [
        (
            names[dataset.name],
            one.name,
            count(one.passed),
            count(one.failed),
            percent(one.passed, one.passed + one.failed),
            _ACTIONS.get(one.action, one.action),
        )
        for dataset in status.datasets
        for one in dataset.expectations
    ]
    if not rows:
        return None
    headings = [("dataset", False), ("expectation", False), ("passed", True), ("failed", True), ("", True)]
    return table([*headings, ("failing rows are", False)], rows)


_ACTIONS = {"warn": "kept", "drop": "dropped", "fail": "refused, with their batch", "quarantine": "quarantined"}


def update_line(status: PipelineStatus, *, flows: Sequence[FlowLoad] = ()) -> str:
    """Returns one line about the newest update: its state, when it began and how long it took.

    With `flows`, of an update that ends by itself also how long they need for what waits for them, where that is known.
    """
    update = status.update
    if update is None:
        return "No update yet."
    state = update.state.value.lower().replace("_", " ")
    ended = update.ended or datetime.now(UTC)
    line = f"{update.pipeline}: {state}, started {update.started.astimezone().strftime('%Y-%m-%d %H:%M:%S')}"
    line += f", {duration_ms(1000 * (ended - update.started).total_seconds())}"
    if not update.continuous and (left := max((flow.drain_seconds or 0 for flow in flows), default=0)):
        line += f", about {duration_ms(1000 * left)} left"
    if status.cluster is not None:
        executors = plural(status.cluster.resources.num_executors, "executor")
        line += f", {executors}{', master lost' if status.cluster.master_lost else ''}"
    return clean(line)


def flow_names(flows: Iterable[FlowLoad]) -> Iterator[str]:
    """Yields the name of each flow: its dataset's, with its own where it has another one."""
    loads = list(flows)
    one_schema = len({load.dataset.rpartition(".")[0] for load in loads}) == 1
    for load in loads:
        name = load.dataset.rpartition(".")[2]
        target = name if one_schema else load.dataset
        own = load.flow.casefold() in {name.casefold(), load.dataset.casefold()}
        yield clean(target if own else f"{target} < {load.flow}")


def falling_behind(flows: Sequence[FlowLoad]) -> Iterator[list[str]]:
    """Yields a line for each flow that falls behind, as a problem of its own."""
    named = zip(flow_names(flows), flows, strict=True)
    return ([f"{name} falls behind: {flow.falling_behind}"] for name, flow in named if flow.falling_behind)


def catching_up(flows: Sequence[FlowLoad]) -> Iterator[str]:
    """Yields how long flows need for what waits for them, of those for which it is known."""
    for name, flow in zip(flow_names(flows), flows, strict=True):
        if flow.drain_seconds:
            yield f"{name} catches up in about {duration_ms(1000 * flow.drain_seconds)} at this pace"


def short_names(datasets: Iterable[DatasetStatus]) -> dict[str, str]:
    """Returns the datasets' names, without their schema when all share one."""
    names = [dataset.name for dataset in datasets]
    one_schema = len({name.rpartition(".")[0] for name in names}) == 1
    return {name: clean((one_schema and name.rpartition(".")[2]) or name) for name in names}


def accounts_line(status: PipelineStatus) -> str | None:
    """Returns one line about how the rows of all batches add up; None before there are any."""
    known = [dataset.accounts for dataset in status.datasets if dataset.accounts is not None]
    if not any(each.batches for each in known):
        return None
    balanced, batches = sum(each.balanced for each in known), sum(each.batches for each in known)
    line = f"Accounting: {balanced:,} of {batches:,} batches balanced"
    if broken := sum(each.broken for each in known):
        line += f", {broken:,} broken"
    if unchecked := sum(each.not_checkable for each in known):
        line += f", {unchecked:,} not checkable"
    return f"{line}."


def problems(status: PipelineStatus) -> Iterator[list[str]]:
    """Yields the errors of the newest update and of each dataset that failed in it, each as `render` shows an error.

    Also a stalled watermark, a join's state that grows for ever, and batches that do not add up, of whatever
    update: their rows are still what they are; then file descriptors, threads and output of the run, when they are too
    many. Alerts that fire come last.
    """
    every: list[tuple[str, Mapping[str, Any] | None, datetime | None]] = [
        ("", None if status.update is None else status.update.error, None),
        ("", None if status.cluster is None else status.cluster.error, None),
        *((each.name, each.error, each.retry_at) for each in status.datasets),
        *((each.name, each.watermark_warning, None) for each in status.datasets),
        *((each.name, each.state_warning, None) for each in status.datasets),
        *((each.name, None if each.accounts is None else each.accounts.error, None) for each in status.datasets),
        *(("", error, None) for error in status.resources),
    ]
    found = [(name, error, retry_at) for name, error, retry_at in every if error is not None]
    yield from (list(error_record_lines(name, error, retry_at)) for name, error, retry_at in found)
    yield from _alerts(status, [(name or None, error.get("condition")) for name, error, _ in found])


def _alerts(status: PipelineStatus, reported: Collection[tuple[str | None, Any]]) -> Iterator[list[str]]:
    """Yields what fires and since when; of an error that is shown anyway not the error again."""
    for alert in status.alerts:
        about = alert.dataset or "the pipeline"
        times = f"wrong since {_moment(alert.since)}, firing since {_moment(alert.fired)}"
        lines = [clean(f"Alert {alert.rule}, {about}: {times}")]
        if not any(alert.reports(dataset, condition) for dataset, condition in reported):
            lines += [f"  {line}" for line in error_record_lines("", alert.error)]
        yield lines


def error_record_lines(name: str, error: Mapping[str, Any], retry_at: datetime | None = None) -> Iterator[str]:
    """Yields an error of the event log as `render` shows an error; `name` is the dataset's."""
    yield clean(f"[{error.get('condition')}] {error.get('message')}")
    if error.get("file"):
        line = f":{error['line']}" if error.get("line") else ""
        yield "  " + clean(f"at {error['file']}{line}" + (f" ({name})" if name else ""))
    elif name:
        yield "  " + clean(f"in {name}")
    if error.get("fix"):
        yield "  " + clean(f"Fix: {error['fix']}")
    if retry_at is not None:
        yield f"  Next try at {retry_at.astimezone():%H:%M:%S}"


def _moment(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _visible(datasets: Iterable[DatasetStatus]) -> list[DatasetStatus]:
    """Leaves out views: they are part of the flows that read them and have no numbers of their own."""
    return [dataset for dataset in datasets if dataset.type != "VIEW"]
