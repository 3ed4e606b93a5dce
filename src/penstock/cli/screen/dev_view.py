"""What `penstock dev` prints: the results of an edit, and how they differ from those before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.screen.console import clean, note, plural, say, stdout, table
from penstock.cli.screen.rows import cell, rows_table
from penstock.errors import render

if TYPE_CHECKING:
    from penstock.cli.screen.fast_table import FastTable
    from penstock.errors import PenstockError
    from penstock.runtime.dev.results import DatasetOutcome, EditOutcome, ResultChange, SampleResult


@dataclass(slots=True)
class EditView:
    """Prints one edit after the other: names of files from `root` on, at most `limit` rows of each dataset."""

    root: Path
    limit: int
    _warned: frozenset[tuple[str | None, str]] = frozenset()

    def show(self, outcome: EditOutcome, files: Sequence[Path]) -> None:
        """Prints what an edit of `files` did; without files, what the session starts with.

        A warning is not printed again as long as it stays as it is.
        """
        root = self.root
        names = [str(file.relative_to(root)) if file.is_relative_to(root) else str(file) for file in files]
        if names:
            say("")
            _heading(f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''} changed")
        for problem in (*outcome.errors, *self._new_warnings(outcome)):
            note(render(problem) + "\n")
        if outcome.errors:
            say(f"{plural(len(outcome.errors), 'error')}; the results are those before the edit.")
            return
        for each in outcome.datasets:
            _print_dataset(each, self.limit)
        for removed in outcome.removed:
            say(f"{removed} is gone")
        times = f"valid after {outcome.validated:.2f} s, results after {outcome.seconds:.2f} s"
        say(f"{len(outcome.datasets):,} of {plural(outcome.count, 'dataset')} computed: {times}")

    def _new_warnings(self, outcome: EditOutcome) -> list[PenstockError]:
        if outcome.errors:  # of a pipeline that is not valid there are none
            return []
        before, self._warned = self._warned, frozenset(map(_what, outcome.warnings))
        return [each for each in outcome.warnings if _what(each) not in before]


def _what(warning: PenstockError) -> tuple[str | None, str]:
    """What a warning says, whatever line it is about."""
    return warning.dataset, warning.message


def _print_dataset(outcome: DatasetOutcome, limit: int) -> None:
    say("")
    if outcome.error is not None:
        _heading(str(outcome.dataset))
        note(render(outcome.error))
        return
    result, change = outcome.result, outcome.change
    assert result is not None
    rows = plural(len(result.rows), "row") if result.whole else f"the first {plural(len(result.rows), 'row')}"
    same = ", same result" if change is not None and change.none else ""
    _heading(f"{result.dataset}  {result.kind.replace('_', ' ').lower()}, {rows}{same}")
    for each in result.notes:
        say(f"  {each}")
    for count in result.expectations:
        say(f"  {count.name} ({count.action}): {count.passed_records:,} passed, {count.failed_records:,} failed")
    if change is not None and change.none:
        return
    if change is None or change.columns:
        say(f"  columns: {', '.join(f'{column.name} {column.type}' for column in result.schema.columns)}")
    if result.private:
        say("  Rows are not shown: a row filter or masks protect them.")
    if change is not None:
        _print_change(change, result, limit)
    elif not result.private and result.rows and limit:
        _print_rows(result, limit)


def _print_change(change: ResultChange, result: SampleResult, limit: int) -> None:
    for column in change.columns:
        say(f"  {column}")
    found = change.rows
    say(f"  {found.only_left:,} removed, {found.only_right:,} added, {found.equal:,} the same")
    if result.private or not limit:
        return
    if found.rows:
        columns = [("", False), ("times", True), *((name, False) for name in found.columns)]
        rows = [("-" if row.in_left else "+", row.times, *map(cell, row.values)) for row in found.rows]
        _print_fitted(table(columns, rows))
    elif result.rows:
        _print_rows(result, limit)


def _print_rows(result: SampleResult, limit: int) -> None:
    _print_fitted(rows_table([column.name for column in result.schema.columns], result.rows[:limit]))


def _print_fitted(rows: FastTable) -> None:
    console = stdout()
    shown, left_out = rows.fitted(console.width)
    console.print(shown)
    if left_out:
        say(f"  + {plural(len(left_out), 'column')}: {', '.join(left_out)}")


def _heading(text: str) -> None:
    from rich.text import Text

    stdout().print(Text(clean(text), style="bold"), soft_wrap=True)
