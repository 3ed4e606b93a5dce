"""What two results differ in, as a table for people or as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cli.screen.console import note, print_table
from penstock.cli.screen.rows import cell

if TYPE_CHECKING:
    from penstock.spark.plans.row_difference import RowDifference


def different_rows(found: RowDifference, left: str, right: str) -> list[dict[str, Any]]:
    """Returns the different rows as JSON: in which of the two they are more often, called so, and how many times."""
    return [
        {
            "only_in": left if row.in_left else right,
            "times": row.times,
            "row": dict(zip(found.columns, row.values, strict=True)),
        }
        for row in found.rows
    ]


def print_different_rows(found: RowDifference, left: str, right: str, *, hidden: bool = False) -> None:
    """Prints them as a table, and says when there are more; `hidden` rows are counted only."""
    if found.rows:
        columns = [("only in", False), ("times", True), *((name, False) for name in found.columns)]
        rows = [(left if row.in_left else right, row.times, *map(cell, row.values)) for row in found.rows]
        print_table(columns, rows)
    if hidden and not found.same:
        note("The table has a row filter or masks, so the rows are not shown.")
    elif sum(row.times for row in found.rows) < found.only_left + found.only_right:
        note("There are more different rows; see --limit.")
