"""Makes the safe changes of findings in the pipeline file; comments and the layout stay."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from penstock.care.finding import Finding, SettingEdit

_INDENTS: Final = ((2, 2, 0), (2, 4, 2), (4, 4, 0), (4, 6, 4))
"""Layouts of mappings and sequences that people use: spaces of a mapping, of a sequence, and before its dash."""


@dataclass(frozen=True, slots=True)
class FixedFile:
    """The text of a pipeline file with the changes in it, and the difference as `diff -u` prints it."""

    text: str
    diff: str


def edits_of(findings: Iterable[Finding]) -> list[SettingEdit]:
    """Returns the safe changes of a pipeline file, each once."""
    found = {each.edit.keys: each.edit for each in findings if isinstance(each.edit, SettingEdit)}
    return list(found.values())


def fix_settings(text: str, edits: Sequence[SettingEdit], *, name: str, environment: str | None) -> FixedFile | None:
    """Returns a pipeline file with changes made in it, in the section of the environment if one is chosen.

    None when the layout of the file, written again, would not stay as it is.
    """
    layout = _layout_of(text)
    if layout is None:
        return None
    document = layout.load(text)
    for edit in edits:
        keys = edit.keys if environment is None else ("environments", environment, *edit.keys)
        _set(document, keys, edit.value)
    written = io.StringIO()
    layout.dump(document, written)
    changed = written.getvalue()
    lines = difflib.unified_diff(text.splitlines(keepends=True), changed.splitlines(keepends=True), name, name)
    return FixedFile(changed, "".join(lines))


def _layout_of(text: str) -> YAML | None:
    for mapping, sequence, offset in _INDENTS:
        layout = YAML()
        layout.preserve_quotes = True
        layout.width = 10_000
        layout.indent(mapping=mapping, sequence=sequence, offset=offset)
        written = io.StringIO()
        try:
            document = layout.load(text)
            layout.dump(document, written)
        except YAMLError:
            return None
        if isinstance(document, MutableMapping) and written.getvalue() == text:
            return layout
    return None


def _set(document: MutableMapping[str, Any], keys: Sequence[str], value: object) -> None:
    *outer, last = keys
    for key in outer:
        if not isinstance(document.get(key), MutableMapping):
            document[key] = {}
        document = document[key]
    document[last] = dict(value) if isinstance(value, Mapping) else value
