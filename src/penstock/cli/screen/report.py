"""What a command shows of a moment: in full, or what matters most of it where a screen ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cli.screen.console import clean, plural, say, stdout

_ROWS_BESIDE_PROBLEMS = 3


@dataclass(frozen=True, slots=True)
class Report:
    """A table with what is around it. As a renderable of rich it fits itself into the height of the screen.

    Attributes:
        head: lines about the whole.
        problems: what is wrong, each with its lines, the worst first.
        noun: what a row of the table is.
        rows: how many the table has.
        table: builds it with that many rows: all in their own order, fewer with those first that matter most; None
            for no table.
        rest: lines and tables that may be left out on a small screen.
        in_full: the command that prints everything.
    """

    head: Sequence[str]
    problems: Sequence[Sequence[str]] = ()
    noun: str = "dataset"
    rows: int = 0
    table: Callable[[int], Any] | None = None
    rest: Sequence[Any] = ()
    in_full: str = "penstock status"

    def print(self) -> None:
        """Writes all of it to stdout, what is wrong last: there it is read when it has scrolled by."""
        for part in (*self.head, *self._tables(self.rows), *self.rest, *_lines(self.problems)):
            if isinstance(part, str):
                say(part)
            else:
                stdout().print(part)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Called by rich with the place that there is: what is wrong comes first, what has no place is counted."""
        height = options.size.height

        def lines(*parts: Any) -> int:
            tall = sum(getattr(part, "row_count", 0) for part in parts)  # not rendered to learn that it is too tall
            if tall > height:
                return tall
            return sum(len(console.render_lines(part, options.update(height=None))) for part in map(_renderable, parts))

        everything = (*self.head, *_lines(self.problems), *self._tables(min(self.rows, height)), *self.rest)
        if self.rows < height and lines(*everything) <= height:
            yield from map(_renderable, everything)
            return
        room = height - 1 - lines(*self.head)  # the last line counts what is left out
        yield from map(_renderable, self.head)
        beside = lines(*self._tables(min(self.rows, _ROWS_BESIDE_PROBLEMS)))
        shown_problems = 0
        while shown_problems < len(self.problems) and (
            (needed := lines(*self.problems[shown_problems])) <= room - beside
            or (shown_problems == 0 and needed <= room)
        ):
            yield from map(_renderable, self.problems[shown_problems])
            room -= needed
            shown_problems += 1
        shown = min(self.rows, room)
        while shown > 0 and lines(*self._tables(shown)) > room:
            shown -= 1
        if shown:
            yield from self._tables(shown)
            room -= lines(*self._tables(shown))
        for part in self.rest:
            if (needed := lines(part)) <= room:
                yield _renderable(part)
                room -= needed
        yield _renderable(self._left_out(len(self.problems) - shown_problems, self.rows - shown))

    def _tables(self, rows: int) -> tuple[Any, ...]:
        return () if self.table is None else (self.table(rows),)

    def _left_out(self, problems: int, rows: int) -> str:
        left_out = [
            plural(number, f"more {noun}") for number, noun in ((problems, "problem"), (rows, self.noun)) if number
        ]
        return f"… {', '.join(left_out) or 'more'}: '{self.in_full}' prints all"


def _lines(problems: Sequence[Sequence[str]]) -> Iterator[str]:
    return (line for problem in problems for line in problem)


def _renderable(part: Any) -> Any:
    from rich.text import Text

    return Text(clean(part, multiline=True)) if isinstance(part, str) else part
