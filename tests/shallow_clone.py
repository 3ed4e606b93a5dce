"""Shallow clones as Spark writes them, in its place: their log names the data files of their source in full."""

from __future__ import annotations

import json
from urllib.parse import quote

from penstock.storage import Storage

_FIRST_COMMIT = "_delta_log/00000000000000000000.json"


def shallow_clone(source: str, target: str, *, named: str | None = None) -> None:
    """Makes a clone of a table in its first version; its log says that the source is at `named`."""
    root = quote(named or (f"file:{source}" if source.startswith("/") else source), safe=":/@=")
    lines = [json.loads(line) for line in Storage(source).read_text(_FIRST_COMMIT).splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = f"{root}/{line['add']['path']}"
    Storage(target).write_text_atomic(_FIRST_COMMIT, "\n".join(map(json.dumps, lines)))
