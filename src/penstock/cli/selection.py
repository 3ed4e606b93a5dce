"""The refresh flags that `plan` and `run` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import names

if TYPE_CHECKING:
    from penstock.plan.selection import RefreshSelection

Refresh = Annotated[
    list[str] | None,
    typer.Option("--refresh", metavar="TABLE[,TABLE]", help="Update these tables only; may be given several times."),
]
FullRefresh = Annotated[
    list[str] | None,
    typer.Option(
        "--full-refresh", metavar="TABLE[,TABLE]", help="Empty these tables and build them again from their sources."
    ),
]
FullRefreshAll = Annotated[bool, typer.Option("--full-refresh-all", help="The same for every table.")]


def selection(refresh: list[str] | None, full_refresh: list[str] | None, full_refresh_all: bool) -> RefreshSelection:
    """Returns the flags as the planner takes them.

    Raises:
        ConfigError: CONFLICTING_REFRESH_OPTIONS.
    """
    from penstock.plan.selection import RefreshSelection

    return RefreshSelection(refresh=names(refresh), full_refresh=names(full_refresh), full_refresh_all=full_refresh_all)
