"""What a status means to the eye: one of eight tones, each with a word and a mark beside its colour."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from penstock.events.types import FlowStatus


class Tone(Enum):
    """The value names the CSS class and the Mermaid class."""

    PLAIN = "plain"
    WAITING = "waiting"
    ACTIVE = "active"
    GOOD = "good"
    SKIPPED = "skipped"
    RETRYING = "retrying"
    BAD = "bad"
    STOPPED = "stopped"


def tone(status: FlowStatus | None) -> Tone:
    """Returns the tone in which `status` is shown; PLAIN when nothing ran yet."""
    match status:
        case None:
            return Tone.PLAIN
        case FlowStatus.QUEUED | FlowStatus.PLANNING | FlowStatus.STARTING:
            return Tone.WAITING
        case FlowStatus.RUNNING | FlowStatus.IDLE:
            return Tone.ACTIVE
        case FlowStatus.COMPLETED:
            return Tone.GOOD
        case FlowStatus.FAILED:
            return Tone.BAD
        case FlowStatus.RETRYING:
            return Tone.RETRYING
        case FlowStatus.SKIPPED:
            return Tone.SKIPPED
        case FlowStatus.EXCLUDED | FlowStatus.STOPPED:
            return Tone.STOPPED
        case _:
            assert_never(status)
