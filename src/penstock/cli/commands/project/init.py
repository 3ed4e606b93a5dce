"""`penstock init NAME`: a small project that runs at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from enum import Enum
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.screen.console import note, say
from penstock.errors import ConfigError

FIRST_FILES = 20
_SETTLED_SECONDS = 60
"""So much older the first files are made: they are whole, and the first run need not wait to see it."""


class Template(Enum):
    """The projects that `init` can write."""

    ORDERS = "orders"


def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new project's folder; its last part is the name.")],
    template: Annotated[Template, typer.Option("--template", help="What to start from.")] = Template.ORDERS,
) -> None:
    """Write a small pipeline with sample data into a new folder.

    The folder must not exist yet, or be empty.
    """
    target = Path(name)
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise ConfigError("PROJECT_FOLDER_NOT_EMPTY", folder=name)
    try:
        target.mkdir(parents=True, exist_ok=True)
        _copy(resources.files("penstock.cli") / "templates" / template.value, target)
        _rename(target / "penstock.yml", target.resolve().name)
    except OSError as error:
        raise ConfigError("PROJECT_FOLDER_NOT_WRITABLE", folder=name, reason=error.strerror or error) from error
    subprocess.run(
        [sys.executable, "generate_orders.py", "--files", str(FIRST_FILES), "--rate", "0"],
        cwd=target,
        check=True,
        capture_output=True,
    )
    for file in (target / "data" / "orders").iterdir():
        whole_since = file.stat().st_mtime - _SETTLED_SECONDS
        os.utime(file, (whole_since, whole_since))
    say(
        f"Wrote {name}: penstock.yml, transformations/orders.py and its tests, generate_orders.py "
        f"and {FIRST_FILES} files of orders."
    )
    where = f'"{name}"' if re.search(r"[^\w./-]", name) else name
    note(
        f"Next:\n  cd {where}\n  penstock run     reads the orders into tables\n  penstock ui      shows what it did\n"
        "  penstock test    runs the tests of the pipeline"
    )


def _copy(source: Traversable, target: Path) -> None:
    """Copies the template; a package may live in a zip file, so it is read through importlib."""
    for entry in source.iterdir():
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            (target / entry.name).mkdir(exist_ok=True)
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())


def _rename(file: Path, project: str) -> None:
    """Gives the pipeline the project's name, quoted for YAML when it must be."""
    import json

    plain = re.fullmatch(r"[A-Za-z][\w-]*", project) is not None and project.lower() not in {
        "yes",
        "no",
        "on",
        "off",
        "null",
        "true",
        "false",
    }
    text = file.read_text(encoding="utf-8")
    written = project if plain else json.dumps(project, ensure_ascii=False)
    file.write_text(re.sub(r"(?m)^name: .*$", lambda _: f"name: {written}", text, count=1), encoding="utf-8")
