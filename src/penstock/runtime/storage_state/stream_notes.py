"""What a streaming flow notes in its checkpoint, so that the next run can tell whether it fits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.graph.elements import OutputMode
from penstock.graph.stream_definition import StreamDefinition
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion, parse_planned_batch

_NOTE = "penstock.json"
_DEFINITION = "definition"
_OWNER = "flow"


@dataclass(frozen=True, slots=True)
class FlowOwner:
    """Whose checkpoint it is: the pipeline's name, the full name of the flow's target, and the flow's name."""

    pipeline: str
    dataset: str
    flow: str

    def is_flow(self, other: FlowOwner) -> bool:
        """Whether both are the same flow of the same target, whatever the pipeline is called."""
        return (self.dataset.casefold(), self.flow.casefold()) == (other.dataset.casefold(), other.flow.casefold())

    def __str__(self) -> str:
        return f"flow '{self.flow}' of {self.dataset} in pipeline '{self.pipeline}'"


def is_started(checkpoint: str) -> bool:
    """Whether a query ran with this checkpoint, at least until it planned its first batch."""
    return Storage(checkpoint).exists("offsets")


def noted_definition(checkpoint: str) -> StreamDefinition | None:
    """Returns the definition with which the checkpoint was last run.

    None when an older version ran it, or a newer one that notes other things.
    """
    try:
        return StreamDefinition.from_json(_note(checkpoint)[_DEFINITION])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def runs_complete(checkpoints: str) -> bool:
    """Whether the newest of a flow's `checkpoints` has run, and in complete mode as far as is recorded."""
    generations = numbers_in(Storage(checkpoints), "")
    newest = f"{checkpoints}/{generations[-1]}" if generations else None
    if newest is None or not is_started(newest):
        return False
    noted = noted_definition(newest)
    return noted is None or noted.output_mode == OutputMode.COMPLETE.value


def known_definition(checkpoint: str) -> StreamDefinition | None:
    """Returns the noted definition, with the settings that the newest plan of the checkpoint has."""
    noted = noted_definition(checkpoint)
    settings = None if noted is None or not noted.operators else planned_settings(checkpoint)
    return noted if noted is None or settings is None else replace(noted, settings=settings)


def planned_settings(checkpoint: str) -> Mapping[str, str] | None:
    """Returns the settings of the newest plan of the checkpoint, with which Spark goes on; None without one."""
    storage = Storage(checkpoint)
    if planned := numbers_in(storage, "offsets"):
        with suppress(FileNotFoundError, DamagedFile, UnknownVersion):  # other checks report these
            return parse_planned_batch(storage.read_bytes(f"offsets/{planned[-1]}")).settings
    return None


def noted_owner(checkpoint: str) -> FlowOwner | None:
    """Returns the flow whose checkpoint it is; None when nothing says so."""
    try:
        return FlowOwner(**_note(checkpoint)[_OWNER])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def note_stream(checkpoint: str, definition: StreamDefinition, owner: FlowOwner) -> None:
    """Writes the note; called before each start of the query, when the plan has found that the checkpoint fits.

    If the process dies after that and before a batch, the note is of a query that has run no batch: nothing depends
    on the older one any more, because the plan allowed to leave it.
    """
    if (noted_definition(checkpoint), noted_owner(checkpoint)) != (definition, owner):
        note = {_DEFINITION: definition.to_json(), _OWNER: asdict(owner)}
        Storage(checkpoint).write_text_atomic(_NOTE, json.dumps(note, sort_keys=True))


def _note(checkpoint: str) -> dict[str, Any]:
    """Returns the note, empty when there is none; raises ValueError or TypeError for anything else."""
    storage = Storage(checkpoint)
    return dict(json.loads(storage.read_text(_NOTE))) if storage.exists(_NOTE) else {}
