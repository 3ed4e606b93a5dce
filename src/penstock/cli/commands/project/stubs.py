"""`penstock stubs`: completion and type checks for pipeline files, in an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.screen.console import note, say
from penstock.errors import ConfigError

_FOLDER = "typings"


def stubs(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="The project's folder.")] = Path(),
) -> None:
    """Write type stubs for `import dlt`, `from pyspark import pipelines` and `spark` into DIR/typings.

    Pyright and Pylance (VS Code) find the folder by themselves. Nothing is installed, and an installed `dlt` of another
    maker is not touched.
    """
    from penstock.declare.stubs import HEADER, stub_files

    folder = directory / _FOLDER
    files = stub_files()
    for name in files:
        _check_ours(folder / name, HEADER)
    for name, text in files.items():
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError("FILE_NOT_WRITABLE", path=target, reason=error.strerror or error) from error
    say(f"Wrote {', '.join(str(folder / name) for name in files)}")
    note("Next: open the folder in your editor; for mypy, set mypy_path = typings")


def _check_ours(target: Path, header: str) -> None:
    """Refuses to replace a file that somebody else wrote."""
    if target.exists() and not (target.is_file() and target.read_text(encoding="utf-8").startswith(header)):
        raise ConfigError("STUB_FILE_EXISTS", path=target)
