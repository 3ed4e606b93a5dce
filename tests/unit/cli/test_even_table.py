"""A table that is drawn at once is the one that rich would draw."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment

from penstock.cli.screen.console import clean
from penstock.cli.screen.fast_table import Cell, Column, FastTable

TEXTS = st.text(max_size=12).map(clean)
STYLES = st.sampled_from(["", "green", "bold red"])


@st.composite
def tables(draw: st.DrawFn) -> FastTable:
    columns = draw(st.lists(st.builds(Column, TEXTS, st.booleans(), st.booleans()), min_size=1, max_size=4))
    rows = st.lists(st.tuples(*(st.builds(Cell, TEXTS, STYLES) for _ in columns)), max_size=4)
    return FastTable(columns, draw(rows), draw(st.integers(0, 1)))


def drawn(renderable: object, width: int) -> list[list[tuple[str, str]]]:
    """The characters of each line, each but blanks with its style."""
    console = Console(file=io.StringIO(), force_terminal=True, width=width, markup=False, highlight=False, emoji=False)
    lines = Segment.split_lines(console.render(renderable))  # type: ignore[arg-type]
    return [
        [(sign, str(part.style or "none") if sign != " " else "") for part in line for sign in part.text]
        for line in lines
    ]


@given(tables(), st.sampled_from([20, 60]))
def test_it_looks_as_rich_would_draw_it(table: FastTable, width: int) -> None:
    assert drawn(table, width) == drawn(table.by_rich(), width)


@pytest.mark.parametrize(("width", "lines"), [(25, 4), (24, 5)], ids=["whole", "folded"])
def test_what_does_not_fit_is_folded(width: int, lines: int) -> None:
    table = FastTable([Column("dataset"), Column("rows", numeric=True)], [[Cell("a_rather_long_name"), Cell("12")]], 0)
    assert len([line for line in drawn(table, width) if line]) == lines + 1


def test_a_title_that_is_wider_than_its_table_is_one_line() -> None:
    table = FastTable([Column("n")], [[Cell("1")]], title="bronze.sales.orders, version 12")
    assert "".join(sign for sign, _ in drawn(table, 60)[0]) == table.title


@given(tables(), st.sampled_from([20, 60]))
def test_a_fitted_table_is_as_wide_as_the_screen_at_most(table: FastTable, width: int) -> None:
    fitted, left_out = table.fitted(width)
    assert fitted.width() <= max(width, 14)
    assert [column.heading for column in fitted.columns] + list(left_out) == [each.heading for each in table.columns]
    assert len(fitted.rows) == len(table.rows)


def test_long_cells_are_cut_before_columns_are_left_out() -> None:
    table = FastTable([Column("one"), Column("two"), Column("three")], [[Cell("a"), Cell("b" * 50), Cell("c" * 9)]])
    cut, left_out = table.fitted(40)
    assert [cell.text for cell in cut.rows[0]] == ["a", "b" * 12 + "…", "c" * 9]
    assert not left_out
    assert table.fitted(20)[1] == ["three"]
    assert table.fitted(80) == (table, ())
