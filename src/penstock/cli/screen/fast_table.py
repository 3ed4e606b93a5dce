"""A table as rich draws it, drawn at once where nothing has to be folded: rich takes ten times as long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

_BOX: Final = box.SIMPLE_HEAD
_SHORTEST_CELL: Final = 12


class Cell(NamedTuple):
    """One line of text and its style, as rich names styles."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A `numeric` column ends in a straight line; one that is `whole` is cut, not folded, where there is no place."""

    heading: str
    numeric: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class FastTable:
    """Is printed by rich. `gap` are the spaces between columns beside the one that is always there; cells are clean."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    gap: int = 1
    title: str = ""

    @property
    def row_count(self) -> int:
        """How many rows there are, as rich's own tables have it."""
        return len(self.rows)

    def widths(self) -> list[int]:
        """Returns how much place each column wants."""
        heads = [cell_len(column.heading) for column in self.columns]
        return [
            max(head, max((cell_len(row[number].text) for row in self.rows), default=0))
            for number, head in enumerate(heads)
        ]

    def width(self) -> int:
        """Returns how wide the table is where nothing is folded."""
        return self._width(self.widths())

    def fitted(self, width: int) -> tuple[FastTable, Sequence[str]]:
        """Returns a table that is folded nowhere on a screen so wide, and the headings of the columns that it lacks.

        If it does not fit as it is, long cells end with `…`, and if need be the last columns are left out.
        """
        if self.width() <= width:
            return self, ()
        most = max(_SHORTEST_CELL, width // 3)
        rows = [[Cell(_cut(cell.text, most), cell.style) for cell in row] for row in self.rows]
        for count in range(len(self.columns), 0, -1):
            found = FastTable(self.columns[:count], [row[:count] for row in rows], self.gap, self.title)
            if found.width() <= width:
                break
        return found, [column.heading for column in self.columns[count:]]

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Called by rich with the place that there is; the title may be wider than the table."""
        if self.title:
            yield Text(self.title, style="table.title")
        widths = self.widths()
        empty = not widths or 0 in widths  # of columns without text rich makes something else
        if empty or options.ascii_only or self._width(widths) > options.max_width:
            yield self.by_rich()
            return
        blank = " " * self._width(widths)
        yield from (Segment(blank), Segment.line())
        yield from self._line([Cell(column.heading, "table.header") for column in self.columns], widths, console)
        yield from (Segment(f" {_BOX.head_row_horizontal * (len(blank) - 2)} "), Segment.line())
        for row in self.rows:
            yield from self._line(row, widths, console)
        yield from (Segment(blank), Segment.line())

    def _width(self, widths: Sequence[int]) -> int:
        return sum(widths) + (self.gap + 1) * (len(self.columns) - 1) + 2

    def _line(self, row: Sequence[Cell], widths: Sequence[int], console: Any) -> Iterator[Segment]:
        yield Segment(" ")
        for number, (cell, width, column) in enumerate(zip(row, widths, self.columns, strict=True)):
            space = " " * (width - cell_len(cell.text))
            text = space + cell.text if column.numeric else cell.text + space
            after = " " if number == len(self.columns) - 1 else " " * (self.gap + 1)
            yield Segment(text, console.get_style(cell.style) if cell.style else None)
            yield Segment(after)
        yield Segment.line()

    def by_rich(self) -> Table:
        """Returns the table without its title, as rich lays it out, folded to what place there is."""
        built = Table(box=_BOX, padding=(0, self.gap, 0, 0), pad_edge=False)
        for column in self.columns:
            built.add_column(
                Text(column.heading),
                justify="right" if column.numeric else "left",
                overflow="ellipsis" if column.whole else "fold",
                no_wrap=column.whole,
            )
        for row in self.rows:
            built.add_row(*(Text(cell.text, style=cell.style) for cell in row))
        return built


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
