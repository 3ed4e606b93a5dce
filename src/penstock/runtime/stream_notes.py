"""What a streaming flow notes in its checkpoint, so that the next run can tell whether it fits."""

from __future__ import annotations

import json

from penstock.graph.stream_definition import StreamDefinition
from penstock.storage import Storage

_NOTE = "penstock.json"
_KEY = "definition"


def is_started(checkpoint: str) -> bool:
    """Whether a query ran with this checkpoint, at least until it planned its first batch."""
    return Storage(checkpoint).exists("offsets")


def noted_definition(checkpoint: str) -> StreamDefinition | None:
    """Returns the definition with which the checkpoint was last run.

    None when an older version ran it, or a newer one that notes other things.
    """
    try:
        return StreamDefinition.from_json(json.loads(Storage(checkpoint).read_text(_NOTE))[_KEY])
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


def note_definition(checkpoint: str, definition: StreamDefinition) -> None:
    """Writes the note; called before each start of the query, when the plan has found that the checkpoint fits.

    If the process dies after that and before a batch, the note is of a query that has run no batch: nothing depends
    on the older one any more, because the plan allowed to leave it.
    """
    if noted_definition(checkpoint) != definition:
        Storage(checkpoint).write_text_atomic(_NOTE, json.dumps({_KEY: definition.to_json()}, sort_keys=True))
