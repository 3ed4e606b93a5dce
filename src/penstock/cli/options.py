"""The parameters that several commands share, so that a flag means one thing everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.plan.selection import RefreshSelection

_NAME: Final = re.compile(r"(?:[^,`]|`[^`]*(?:`|$))+")
"""One of several dataset names; an open backquote reaches to the end."""

Directory = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The folder that holds the pipeline file.", show_default="current folder"),
]
DirectoryOrScript = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="The folder that holds the pipeline file, or a script.", show_default="current folder"
    ),
]
Environment = Annotated[
    str | None,
    typer.Option("--env", metavar="NAME", help="Use this entry of `environments`, or this target of a bundle."),
]
Pipeline = Annotated[
    str | None, typer.Option("--pipeline", metavar="KEY", help="Which pipeline of a bundle that declares several.")
]
StorageUri = Annotated[
    str | None,
    typer.Option("--storage", metavar="URI", help="Where tables, checkpoints and events live; wins over the file."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set one entry of `configuration`; may be given several times."),
]
Batch = Annotated[
    bool,
    typer.Option(
        "--batch", help="Compute every table as one batch over all the data, in the storage's folder 'batch'."
    ),
]
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


class FailOn(Enum):
    """From which severity on a command fails."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"

    @property
    def severities(self) -> frozenset[str]:
        """The severities of findings that make it fail."""
        return {
            FailOn.NEVER: frozenset[str](),
            FailOn.ERROR: frozenset({"error"}),
            FailOn.WARNING: frozenset({"error", "warning"}),
        }[self]


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


def settings(given: Iterable[str] | None) -> Mapping[str, str]:
    """Returns the `--set` flags as a mapping; the last one of a key wins.

    Raises:
        ConfigError: INVALID_SETTING for a flag that is not `KEY=VALUE`.
    """
    pairs: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError("INVALID_SETTING", setting=text)
        pairs[key.strip()] = value
    return pairs


def names(given: Iterable[str] | None) -> tuple[str, ...]:
    """Returns dataset names given one a flag or separated by commas; a comma inside backquotes stays."""
    found = (name.strip() for text in given or () for name in _NAME.findall(text))
    return tuple(name for name in found if name)


def selection(refresh: list[str] | None, full_refresh: list[str] | None, full_refresh_all: bool) -> RefreshSelection:
    """Returns the flags as the planner takes them.

    Raises:
        ConfigError: CONFLICTING_REFRESH_OPTIONS.
    """
    from penstock.plan.selection import RefreshSelection

    return RefreshSelection(refresh=names(refresh), full_refresh=names(full_refresh), full_refresh_all=full_refresh_all)
