"""Identifiers use the words of the field; those of a private dialect do not come back."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.repo.documents import ROOT

_REPORTING = "told tell tells untold courier outlook asked"
_RENAMED = "anew aside nobody misfit misfits hasten lighten drawn standing"
PRIVATE = frozenset(f"{_REPORTING} {_RENAMED}".split())
ACCEPTED = frozenset({"stand_ins", "tell"})
"""A key that users write, and the method of a file."""
_ANY = re.compile("|".join(PRIVATE), re.IGNORECASE)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def private_words(file: Path) -> Iterator[tuple[int, str]]:
    """Yields line and name of each identifier of a module that holds a private word."""
    text = file.read_text(encoding="utf-8")
    if not _ANY.search(text):  # to divide all modules into tokens would take seconds
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string not in ACCEPTED:
            parts = {part.lower() for part in _PART.findall(token.string)}
            if parts & PRIVATE:
                yield token.start[0], token.string


def test_identifiers_have_no_private_words() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in sorted((ROOT / "src").rglob("*.py"))
        for line, name in private_words(file)
    ]
    assert found == []
