"""The SQL texts of a script: what its calls of `spark.sql` are given, and the SQL cells of its notebook."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from penstock.care.lint.script import Script
from penstock.graph.sql.placed_text import Anchor, PlacedText

_OPENING: Final = re.compile(r"[rRuUbBfF]*(\"\"\"|'''|\"|')")


_WORTH: Final = re.compile(
    r"stream|cloud_files|read_kafka|read_files|live\b|expect|auto\s+cdc|apply\s+changes|materialized|/mnt/"
    r"|password|secret|key|token|schemaInference",
    re.IGNORECASE,
)
"""One of these is in every text in which a rule can find something: the parser is not loaded for others."""


def texts_of(script: Script) -> Iterator[PlacedText]:
    """Yields each SQL text in which something can be found, with its places in `script.lines`."""
    return (each for each in _all_texts(script) if _WORTH.search(each.text))


def _all_texts(script: Script) -> Iterator[PlacedText]:
    yield from script.sql
    for call in script.calls("sql"):
        if not isinstance(call.func, ast.Attribute):
            continue
        given = (
            call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "sqlQuery"), None)
        )
        text = script.constants.text(given)
        if given is not None and text is not None:
            yield _placed(script, script.constants.named(given), text)


def _placed(script: Script, node: ast.expr, text: str) -> PlacedText:
    """A text at the place of its literal; one of several parts, or with escapes, stands as a whole at its beginning."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = script.lines[node.lineno - 1 : node.end_lineno]
    before = len(lines[0].encode()[: node.col_offset].decode(errors="ignore"))
    written = "\n".join(lines)[before:]
    opening = _OPENING.match(written)
    if isinstance(node, ast.Constant) and opening is not None and written.startswith(text, opening.end()):
        start = written[: opening.end()]
        return PlacedText(text, script.path, (Anchor(0, node.lineno, before + len(start) + 1),))
    return PlacedText(text, script.path, (Anchor(0, node.lineno, before + 1, verbatim=False),))
