"""The last words of `penstock run`: what is in the tables now, how good it is, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from penstock.cli.screen.console import note, plural, stderr, table
from penstock.cli.screen.status_view import quality_table, short_names
from penstock.errors import PenstockError, render
from penstock.events import UpdateState
from penstock.observe.numbers import count, duration_ms
from penstock.observe.status.pipeline_status import PipelineStatus


def print_summary(
    state: UpdateState,
    errors: Sequence[PenstockError],
    *,
    this_run: PipelineStatus,
    total: PipelineStatus,
    directory: str = "",
) -> None:
    """Writes the summary to stderr.

    `this_run` holds this update's numbers, `total` those of the whole log. `directory` is what the commands
    proposed at the end need to find the pipeline, as it is typed; nothing when it is the working directory.
    """
    added = {dataset.name: dataset.rows for dataset in this_run.datasets}
    stored = [dataset for dataset in total.datasets if dataset.name in added and dataset.type != "VIEW"]
    with_quarantine = any(dataset.has_quarantine for dataset in stored)
    late = any(dataset.late for dataset in stored)
    out, names = stderr(), short_names(total.datasets)
    if stored:
        rows = [
            (
                names[dataset.name],
                (dataset.type or "").replace("_", " ").lower(),
                count(added[dataset.name] or 0),
                count(dataset.rows or 0),
                count(dataset.dropped),
                *((count(dataset.quarantined),) if with_quarantine else ()),
                *((count(dataset.late),) if late else ()),
            )
            for dataset in stored
        ]
        headings = [("table", False), ("type", False), ("written now", True), ("rows", True), ("dropped", True)]
        if with_quarantine:
            headings.append(("quarantined", True))
        if late:
            headings.append(("late", True))
        out.print(table(headings, rows))
        quality = quality_table(total)
        if quality is not None:
            out.print(quality)
    for error in errors:
        note(render(error) + "\n")
    note(_last_line(state, errors, this_run))
    tables = [dataset for dataset in stored if dataset.type != "SINK"]
    if tables:
        note(_what_next(errors, names[tables[-1].name], directory))


def exit_code(errors: Sequence[PenstockError]) -> int:
    """Returns the code of a run with `errors`: theirs where they have one in common, else 1."""
    codes = {error.exit_code for error in errors}
    return codes.pop() if len(codes) == 1 else 1


def _last_line(state: UpdateState, errors: Sequence[PenstockError], this_run: PipelineStatus) -> str:
    word = {UpdateState.COMPLETED: "Done", UpdateState.CANCELED: "Stopped"}.get(state, "Failed")
    if errors:
        word = f"Failed with {plural(len(errors), 'error')}"
    update = this_run.update
    if update is None or update.milliseconds is None:
        return f"{word}."
    return f"{word} in {duration_ms(update.milliseconds)}."


def _what_next(errors: Sequence[PenstockError], last_table: str, directory: str) -> str:
    if errors:
        lead = "Next: correct the error and run again; a run continues after the last committed batch."
        proposals = [("events --level error", "what happened, in order")]
    else:
        lead = "Next:"
        proposals = [
            (f"show {shlex.quote(last_table)}", "its rows"),
            ("status", "this again, any time"),
            ("ui", "the dashboard"),
        ]
    words = [(f"penstock {command} {directory}".rstrip(), why) for command, why in proposals]
    width = max(len(command) for command, _ in words)
    return "\n".join([lead, *(f"  {command:<{width}}   {why}" for command, why in words)])
