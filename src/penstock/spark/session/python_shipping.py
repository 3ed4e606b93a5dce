"""The user's Python code on the machines that run it: Python functions in queries need the modules they come from."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import penstock

if TYPE_CHECKING:
    from pyspark import SparkContext

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages"}


def local_python_path(roots: Sequence[Path], inherited: str) -> str:
    """Returns the PYTHONPATH of Python workers on this machine: the folders `roots`, then `inherited`."""
    return os.pathsep.join([*(str(root) for root in roots), *([inherited] if inherited else [])])


def ship_python(context: SparkContext, roots: Sequence[Path], folder: Path) -> None:
    """Sends Penstock itself and the Python files under `roots` to every executor, as archives on their import path.

    The driver goes on importing from the folders themselves, so that errors name the user's own files.
    """
    package = Path(penstock.__file__).parent
    archives = [(folder / "penstock.zip", package.parent, package)]
    archives += [(folder / f"pipeline-{number}.zip", root, root) for number, root in enumerate(roots)]
    for archive, base, top in archives:
        if _write_archive(archive, base, top):
            path = list(sys.path)
            context.addPyFile(str(archive))
            sys.path[:] = path


def _write_archive(archive: Path, base: Path, top: Path) -> bool:
    """Writes the Python files under `top` with paths relative to `base`; returns whether there were any."""
    files = list(_python_files(top))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for file in files:
            opened.write(file, file.relative_to(base))
    return bool(files)


def _python_files(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        # `pyvenv.cfg` marks a virtual environment, whatever its name.
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED_FOLDERS
            and not (Path(folder) / name / "pyvenv.cfg").exists()
        )
        yield from (Path(folder) / name for name in sorted(names) if name.endswith(".py"))
