"""A pipeline's status as a person reads it: shared by `status`, the live view of `run` and its summary."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.cli.console import clean, table
from penstock.observe.numbers import count, duration_ms, percent, rate

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
    for heading in ("rows", "dropped", "in", "done", "batch", "passed"):
        built.add_column(heading, justify="right")
    for dataset in _visible(status.datasets):
        word = _word(dataset.status)
        built.add_row(
            Text(short_name(dataset.name, status.datasets)),
            Text(word.lower(), style=_STYLES.get(word, "")),
            count(dataset.rows),
            count(dataset.dropped),
            rate(dataset.input_rows_per_second),
            rate(dataset.processed_rows_per_second),
            duration_ms(dataset.last_batch_duration_ms),
            passed(dataset),
        )
    return built


def quality_table(status: PipelineStatus) -> Any | None:
    """Builds the table of expectations with their counts, or None when there are none."""
    rows = [
        (
            short_name(dataset.name, status.datasets),
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
        line += f", {duration_ms(1000 * (ended - update.started).total_seconds())}"
    return clean(line)


def short_name(name: str, datasets: Iterable[DatasetStatus]) -> str:
    """Returns the name without its schema when all datasets share one."""
    schemas = {dataset.name.partition(".")[0] for dataset in datasets}
    return clean(name.partition(".")[2] or name) if len(schemas) == 1 else clean(name)


def passed(dataset: DatasetStatus) -> str:
    """Returns the share of checks that passed, over all expectations of the dataset; a dash without any."""
    good = sum(one.passed for one in dataset.expectations)
    bad = sum(one.failed for one in dataset.expectations)
    return percent(good, good + bad)


def errors_of_datasets(status: PipelineStatus) -> list[tuple[str, str, str]]:
    """Returns (dataset, condition and message, fix) of each dataset that failed."""
    found = []
    for dataset in status.datasets:
        if dataset.error:
            message = f"[{dataset.error.get('condition')}] {dataset.error.get('message')}"
            found.append((clean(dataset.name), clean(message), clean(dataset.error.get("fix") or "")))
    return found


def _visible(datasets: Iterable[DatasetStatus]) -> list[DatasetStatus]:
    """Leaves out views: they are part of the flows that read them and have no numbers of their own."""
    return [dataset for dataset in datasets if _word(dataset.type) != "VIEW"]


def _word(value: Any) -> str:
    """Returns the word of an enum member, a string or None."""
    return "" if value is None else str(getattr(value, "value", value))
