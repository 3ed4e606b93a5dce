"""The code blocks of the documentation, for the tests that run them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")])


@dataclass(frozen=True)
class Block:
    """One fenced block: `kind` is its first word (`sh`, `python`, `console`), `marks` the others."""

    page: Path
    line: int
    kind: str
    marks: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Returns the fenced blocks of a page, in order."""
    found = []
    for token in _tokens(page):
        if token.type == "fence" and token.map is not None:
            words = token.info.split() or [""]
            found.append(Block(page, token.map[0] + 1, words[0], tuple(words[1:]), token.content))
    return found


def links(page: Path) -> list[str]:
    """Returns the targets of the links and pictures of a page."""
    found = []
    for token in _tokens(page):
        for inner in token.children or ():
            target = inner.attrGet("href") or inner.attrGet("src")
            if target:
                found.append(str(target))
    return found


@cache
def _tokens(page: Path) -> list[Token]:
    return MarkdownIt().parse(page.read_text(encoding="utf-8"))
