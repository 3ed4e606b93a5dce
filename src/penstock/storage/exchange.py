"""Puts one checkpoint in the place of another, so that whoever looks finds the old one, the new one, or how to go on.

Without its checkpoint a flow would read everything again, so the moment between "the old one is away" and "the new
one is there" must not be taken for that. A note says what was begun; whoever next holds the storage's lock finishes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.errors import StateError
from penstock.storage.filesystem import Storage

_NOTE: Final = "checkpoints/unfinished.json"


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What was begun: `place` goes to `previous`, then `staged`, if any, to `place`. All relative to the storage."""

    place: str
    previous: str
    staged: str | None
    away: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"place": self.place, "aside": self.previous, "staged": self.staged, "away": self.away}

    @classmethod
    def from_json(cls, note: Any) -> _Exchange:
        if not note.keys() <= {"place", "aside", "staged", "away"}:
            raise ValueError(note)
        return cls(note["place"], note["aside"], note["staged"], note.get("away", False))


def exchange(storage: Storage, place: str, *, previous: str, staged: str | None = None) -> None:
    """Moves the folder at `place`, if there is one, to `previous`, and then the one at `staged` to `place`.

    All are URIs in the storage, whose lock the caller holds; nothing is at `previous` yet. A process that dies
    in between leaves a note, and `finish_exchange` completes the work.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE; the note stays.
    """
    begun = _Exchange(
        _relative(storage, place), _relative(storage, previous), None if staged is None else _relative(storage, staged)
    )
    _write(storage, begun)
    _finish(storage, begun)


def finish_exchange(storage: Storage) -> bool:
    """Completes what a process that died had begun; returns whether there was anything.

    Called by each holder of the storage's lock before it looks at a checkpoint.

    Raises:
        StateError: CHECKPOINT_NOTE_DAMAGED.
        ConfigError: STORAGE_NOT_WRITABLE, STORAGE_NOT_READABLE.
    """
    try:
        text = storage.read_text(_NOTE)
    except FileNotFoundError:
        return False
    try:
        begun = _Exchange.from_json(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StateError("CHECKPOINT_NOTE_DAMAGED", file=storage.resolve(_NOTE)) from error
    _finish(storage, begun)
    return True


def _finish(storage: Storage, begun: _Exchange) -> None:
    if not begun.away:
        storage.move(begun.place, begun.previous)
        begun = replace(begun, away=True)
        _write(storage, begun)
    if begun.staged is not None:
        storage.move(begun.staged, begun.place)
    storage.delete(_NOTE)


def _write(storage: Storage, begun: _Exchange) -> None:
    storage.write_text_atomic(_NOTE, json.dumps(begun.to_json(), indent=1) + "\n")


def _relative(storage: Storage, uri: str) -> str:
    return uri.removeprefix(storage.uri).lstrip("/")
