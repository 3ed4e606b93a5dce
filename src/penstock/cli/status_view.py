"""A pipeline's status as a person reads it: shared by `status`, the live view of `run` and its summary."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.cli.console import clean, number, plural, table

if TYPE_CHECKING:
    from penstock.observe.status import DatasetStatus, PipelineStatus

_STYLES = {"RUNNING": "cyan", "COMPLETED": "green", "FAILED": "bold red", "SKIPPED": "yellow", "STOPPED": "yellow"}


def status_table(status: PipelineStatus, *, title: str = "") -> Any:
    """Builds the table of datasets: status, rows, rates, the last batch, expectations."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    built = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    built.add_column("dataset", overflow="fold")
    built.add_column("status")
    for heading in ("rows", "dropped", "in/s", "done/s", "batch", "passed"):
        built.add_column(heading, justify="right")
    for dataset in _visible(status.datasets):
        word = _word(dataset.status)
        built.add_row(
            Text(short_name(dataset.name, status.datasets)),
            Text(word.lower(), style=_STYLES.get(word, "")),
            number(dataset.rows),
            number(dataset.dropped) if dataset.dropped else "",
            number(dataset.input_rows_per_second),
            number(dataset.processed_rows_per_second),
            duration(dataset.last_batch_duration_ms),
            passed(dataset),
        )
    return built


def quality_table(status: PipelineStatus) -> Any | None:
    """Builds the table of expectations with their counts, or None when there are none."""
    rows = [
        (
            short_name(dataset.name, status.datasets),
            one.name,
            number(one.passed),
            number(one.failed),
            percent(one.passed, one.failed),
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


def update_line(status: PipelineStatus) -> str:
    """Returns one line about the newest update: its state, when it began and how long it took."""
    update = status.update
    if update is None:
        return "No update yet."
    state = _word(update.state).lower().replace("_", " ")
    line = f"{update.pipeline}: {state}"
    if update.started is not None:
        ended = update.ended or datetime.now(UTC)
        line += f", started {update.started.astimezone().strftime('%Y-%m-%d %H:%M:%S')}"
        line += f", {seconds((ended - update.started).total_seconds())}"
    return clean(line)


def short_name(name: str, datasets: Iterable[DatasetStatus]) -> str:
    """Returns the name without its schema when all datasets share one."""
    schemas = {dataset.name.partition(".")[0] for dataset in datasets}
    return clean(name.partition(".")[2] or name) if len(schemas) == 1 else clean(name)


def passed(dataset: DatasetStatus) -> str:
    """Returns the share of checks that passed, over all expectations of the dataset; empty without any."""
    good = sum(one.passed for one in dataset.expectations)
    bad = sum(one.failed for one in dataset.expectations)
    return percent(good, bad) if dataset.expectations else ""


def percent(good: int, bad: int) -> str:
    """Returns a share; one failure in a million never shows as 100%."""
    if good + bad == 0:
        return ""
    share = 100 * good / (good + bad)
    return f"{min(share, 99.9) if bad else share:.1f}%"


def duration(milliseconds: float | None) -> str:
    """Renders a batch's duration: `850 ms`, `12.3 s`."""
    if milliseconds is None:
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else seconds(milliseconds / 1000)


def seconds(value: float) -> str:
    """Renders a time span: `12.3 s`, `3 min 20 s`, `2 h 5 min`."""
    if value < 60:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def errors_of_datasets(status: PipelineStatus) -> list[tuple[str, str, str]]:
    """Returns (dataset, condition and message, fix) of each dataset that failed."""
    found = []
    for dataset in status.datasets:
        if dataset.error:
            message = f"[{dataset.error.get('condition')}] {dataset.error.get('message')}"
            found.append((clean(dataset.name), clean(message), clean(dataset.error.get("fix") or "")))
    return found


def counted(status: PipelineStatus) -> str:
    """Returns how many rows and tables a status tells of."""
    tables = [dataset for dataset in status.datasets if dataset.rows is not None]
    return f"{plural(sum(dataset.rows or 0 for dataset in tables), 'row')} in {plural(len(tables), 'table')}"


def _visible(datasets: Iterable[DatasetStatus]) -> list[DatasetStatus]:
    """Leaves out views: they are part of the flows that read them and have no numbers of their own."""
    return [dataset for dataset in datasets if _word(dataset.type) != "VIEW"]


def _word(value: Any) -> str:
    """Returns the word of an enum member, a string or None."""
    return "" if value is None else str(getattr(value, "value", value))
