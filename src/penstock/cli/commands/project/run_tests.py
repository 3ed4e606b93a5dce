"""`penstock test`: runs the project's tests."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.screen.console import note
from penstock.errors import ConfigError

_PLUGIN = "penstock.testing.plugin"
_LOADED = "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"
_NO_TESTS = 5  # pytest's own exit code
_FAILED = 1


def run_tests(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH", help="Files or folders of tests, `file::test` for one.", show_default="current folder"
        ),
    ] = None,
    keyword: Annotated[
        str | None, typer.Option("--keyword", "-k", metavar="EXPRESSION", help="Only tests whose names match.")
    ] = None,
    first: Annotated[bool, typer.Option("--exitfirst", "-x", help="Stop at the first failure.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name each test.")] = False,
) -> None:
    """Run the project's tests, with pytest and the fixture `pipeline`.

    A test feeds rows to the pipeline, lets a step run and looks at its tables, on storage that is removed afterwards.
    """
    given = paths or [Path()]
    for path in given:
        file = Path(str(path).partition("::")[0])
        if not file.exists():
            raise ConfigError("TESTS_NOT_FOUND", path=path, reason="it does not exist")
    if importlib.util.find_spec("pytest") is None:
        raise ConfigError("PYTEST_NOT_INSTALLED", python=sys.executable)
    import pytest

    words = [
        "-p",
        _PLUGIN,
        "-W",
        _LOADED,
        "-v" if verbose else "-q",
        *(["-k", keyword] if keyword else []),
        *(["-x"] if first else []),
    ]
    sys.path.insert(0, os.getcwd())
    ended = int(pytest.main([*words, *map(str, given)]))
    if ended == _NO_TESTS:
        raise ConfigError("TESTS_NOT_FOUND", path=" ".join(map(str, given)), reason="pytest finds no test there")
    if ended > _FAILED:
        note("Pytest did not run the tests; its message is above.")
        raise typer.Exit(2)
    raise typer.Exit(ended)
