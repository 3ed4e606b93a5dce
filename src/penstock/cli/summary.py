"""The last words of `penstock run`: what is in the tables now, how good it is, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.console import note, plural, stderr, table
from penstock.cli.status_view import quality_table, short_name
from penstock.errors import render
from penstock.observe.numbers import count, duration_ms

if TYPE_CHECKING:
    from penstock.observe.status import PipelineStatus
    from penstock.runtime import UpdateOutcome


def print_summary(outcome: UpdateOutcome, *, this_run: PipelineStatus, total: PipelineStatus) -> None:
    """Writes the summary to stderr. `this_run` holds this update's numbers, `total` those of the whole log."""
    added = {dataset.name: dataset.rows for dataset in this_run.datasets}
    stored = [dataset for dataset in total.datasets if dataset.name in added and _word(dataset.type) != "VIEW"]
    out = stderr()
    if stored:
        rows = [
            (
                short_name(dataset.name, total.datasets),
                _word(dataset.type).replace("_", " ").lower(),
                count(added[dataset.name] or 0),
                count(dataset.rows or 0),
                count(dataset.dropped),
            )
            for dataset in stored
        ]
        headings = [("table", False), ("type", False), ("written now", True), ("rows", True), ("dropped", True)]
        out.print(table(headings, rows))
        quality = quality_table(total)
        if quality is not None:
            out.print(quality)
    for error in outcome.errors:
        note(render(error) + "\n")
    note(_last_line(outcome, this_run))
    if stored:
        note(_what_next(outcome, short_name(stored[-1].name, total.datasets)))


def _last_line(outcome: UpdateOutcome, this_run: PipelineStatus) -> str:
    word = {"COMPLETED": "Done", "CANCELED": "Stopped", "FAILED": "Failed"}.get(
        outcome.state.value, outcome.state.value
    )
    if outcome.errors:
        word = f"Failed with {plural(len(outcome.errors), 'error')}"
    update = this_run.update
    if update is None or update.started is None or update.ended is None:
        return f"{word}."
    return f"{word} in {duration_ms(1000 * (update.ended - update.started).total_seconds())}."


def _what_next(outcome: UpdateOutcome, last_table: str) -> str:
    quoted = f'"{last_table}"' if " " in last_table else last_table
    if outcome.errors:
        return (
            "Next: correct the error and run again; a run continues after the last committed batch.\n"
            "  penstock events --level error     what happened, in order"
        )
    return (
        "Next:\n"
        f"  penstock show {quoted:<20} its rows\n"
        "  penstock status                    this again, any time\n"
        "  penstock ui                        the dashboard"
    )


def _word(value: object) -> str:
    return str(getattr(value, "value", value) or "")
