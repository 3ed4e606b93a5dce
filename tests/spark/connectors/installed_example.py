"""Installs the example of a connector as `pip` would, without asking an index: its module, and what names it."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples/penstock_sqlite"


def install_example(site: Path) -> Path:
    """Puts the example into a folder for packages, and returns that folder."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site.mkdir(exist_ok=True)
    for module in EXAMPLE.glob("*.py"):
        shutil.copy(module, site)
    described = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    described.mkdir()
    head = f"Metadata-Version: 2.4\nName: {project['name']}\nVersion: {project['version']}\n"
    (described / "METADATA").write_text(head, encoding="utf-8")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in names.items())
        for group, names in project["entry-points"].items()
    ]
    (described / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    return site
