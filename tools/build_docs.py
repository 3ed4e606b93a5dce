"""Builds docs/ as a site with search: python tools/build_docs.py [FOLDER], by default `.docs/site`.

The pages are read in the repository too, so they link to files outside docs/. In the site the README is the first page,
CHANGELOG and CONTRIBUTING are pages, and links to code, tests and results are plain text. The builder is Zensical, the
successor of Material for MkDocs; a link that leads nowhere ends it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".docs"
SOURCE = WORK / "source"
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages from outside docs/, by their file and their name in the site."""

API = ("penstock", "penstock.connectors", "penstock.sources", "penstock.testing")
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)
"""A block of code with more than its language, which is for the tests that run it."""
_PARTS = (("How-to", "how-to"), ("Reference", "reference"), ("Decisions", "decisions"))


def stage() -> None:
    """Writes the pages of the site and its settings to `.docs`."""
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE, ignore=shutil.ignore_patterns("evidence"))
    outside = {SOURCE / page: ROOT / name for name, page in PAGES.items()}
    for page, original in outside.items():
        shutil.copyfile(original, page)
    api = SOURCE / "reference/api"
    api.mkdir()
    for name in API:
        (api / f"{name}.md").write_text(f"# {name}\n\n::: {name}\n", encoding="utf-8")
    for page in SOURCE.rglob("*.md"):
        original = outside.get(page, ROOT / "docs" / page.relative_to(SOURCE))
        page.write_text(_relinked(page.read_text(encoding="utf-8"), original, page), encoding="utf-8")
    (WORK / "mkdocs.yml").write_text(json.dumps(_settings(), indent=1), encoding="utf-8")  # JSON is YAML


def _relinked(text: str, original: Path, page: Path) -> str:
    """Returns `text` with its links as they are in the site."""

    def link(match: re.Match[str]) -> str:
        path, mark, anchor = match["target"].partition("#")
        if "://" in path or path.startswith("mailto:") or not path:
            return match[0]
        target = (original.parent / path).resolve()
        there = _in_site(target)
        if there is None:
            return match["text"]
        return f"{match['image']}[{match['text']}]({os.path.relpath(there, page.parent)}{mark}{anchor})"

    return _FENCE.sub(r"\1", _LINK.sub(link, text))


def _in_site(target: Path) -> Path | None:
    """Returns where a file of the repository is in the site; None when it is not there."""
    if target.parent == ROOT and target.name in PAGES:
        return SOURCE / PAGES[target.name]
    docs = ROOT / "docs"
    if not target.is_relative_to(docs) or target.is_relative_to(docs / "evidence"):
        return None
    there = SOURCE / target.relative_to(docs)
    return (
        there / "README.md" if there.is_dir() and (there / "README.md").exists() else there if there.is_file() else None
    )


def _settings() -> dict[str, Any]:
    return {
        "site_name": "Penstock",
        "docs_dir": "source",
        "site_dir": "site",
        "use_directory_urls": False,
        "nav": list(_navigation()),
        "theme": {
            "name": "material",
            "font": False,  # readers' browsers ask no other host
            "features": ["navigation.indexes", "navigation.top", "content.code.copy", "search.highlight"],
            "palette": [
                {"scheme": "default", "toggle": {"icon": "lucide/sun", "name": "Dark"}},
                {"scheme": "slate", "toggle": {"icon": "lucide/moon", "name": "Light"}},
            ],
        },
        "plugins": ["search", {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT / "src")]}}}}],
        "markdown_extensions": [
            "tables",
            "admonition",
            "pymdownx.superfences",
            "pymdownx.highlight",
            {"toc": {"permalink": True}},
        ],
    }


def _navigation() -> Iterator[dict[str, Any]]:
    yield {"Penstock": "index.md"}
    yield {"Tutorial": "tutorial.md"}
    for title, folder in _PARTS:
        pages = sorted((SOURCE / folder).rglob("*.md"), key=_title)
        yield {title: [{_title(page): page.relative_to(SOURCE).as_posix()} for page in pages]}
    for name in ("guarantees.md", "errors.md", "architecture.md", "contributing.md", "changelog.md"):
        yield {_title(SOURCE / name): name}


def _title(page: Path) -> str:
    first = page.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").replace("`", "")


def main() -> int:
    stage()
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(WORK / "mkdocs.yml")]
    code = subprocess.run(command, cwd=WORK, check=False).returncode
    if code == 0 and len(sys.argv) > 1:
        shutil.copytree(WORK / "site", sys.argv[1], dirs_exist_ok=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
