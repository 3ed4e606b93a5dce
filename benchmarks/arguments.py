"""The flags that every benchmark has."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.results import DIRTY, FOLDER, commit

_WORK = Path(__file__).parent.parent / ".bench"


def parser_of(benchmark: str, description: str | None) -> argparse.ArgumentParser:
    """Returns a parser with `--work` and `--results`, to which a benchmark adds its own flags."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{benchmark}", description=description)
    parser.add_argument("--work", type=Path, default=_WORK, help="folder for input and tables")
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder for the JSON result")
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Reads the command line, and makes the folder for the work; its path is absolute.

    Results that are kept in the repository name a commit that others can check out: with uncommitted changes, exits.
    """
    given = parser.parse_args()
    if given.results.absolute() == FOLDER and commit().endswith(DIRTY):
        parser.error("there are uncommitted changes: commit them, or name another folder with --results")
    given.work = given.work.absolute()
    given.work.mkdir(parents=True, exist_ok=True)
    return given
