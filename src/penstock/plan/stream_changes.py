"""Compares a streaming flow with the definition that its checkpoint was made with. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from penstock.graph.stream_definition import STATE_SETTINGS, WATERMARK_POLICY, StateOperator, StreamDefinition


class Verdict(Enum):
    """What may become of a checkpoint; the later ones outweigh the earlier ones."""

    NEW = "new"
    UNCHANGED = "unchanged"
    COMPATIBLE = "compatible"
    FULL_REFRESH = "needs full refresh"


@dataclass(frozen=True, slots=True)
class StreamChanges:
    """How a flow differs from what its checkpoint knows; each of `reasons` says what changed and what that does."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    kept_settings: tuple[str, ...] = ()
    """Settings of the state that stay as its checkpoint has them, each with both values."""

    def describe(self) -> str:
        """Returns the comparison in one sentence."""
        return ": ".join([self.verdict.value, *(["; ".join(self.reasons)] if self.reasons else [])])


def compare_streams(before: StreamDefinition | None, now: StreamDefinition, *, started: bool) -> StreamChanges:
    """Returns whether a flow can go on with its checkpoint.

    `before` is None when nothing was noted: for a new checkpoint, or (`started`) one that an older version made,
    which is taken as it is; Spark's own checks then are all there is.
    """
    if not started:
        return StreamChanges(Verdict.NEW)
    if before is None:
        return StreamChanges(Verdict.UNCHANGED)
    if breaking := tuple(_breaking(before, now)):
        return StreamChanges(Verdict.FULL_REFRESH, breaking)
    if compatible := tuple(_compatible(before, now)):
        settings = tuple(
            f"{name} stays {old}, not {new}" for name, old, new in _other_settings(before, now, STATE_SETTINGS)
        )
        return StreamChanges(Verdict.COMPATIBLE, compatible, settings)
    return StreamChanges(Verdict.UNCHANGED)


def _breaking(before: StreamDefinition, now: StreamDefinition) -> Iterator[str]:
    for name, read in before.sources.items():
        if (other := now.sources.get(name, read)) != read:
            yield f"source {name} read {read} and now reads {other}, where its offsets mean something else"
    yield from _other_state(before.operators, now.operators)
    rekeyed = _same_in_any_case(before.keys) != _same_in_any_case(now.keys)
    if rekeyed:
        yield f"its rows were {_write_description(before)} and are now {_write_description(now)}"
    if not (before.operators or now.operators):
        return
    if before.output_mode != now.output_mode and not rekeyed:
        yield f"its output mode was {before.output_mode} and is {now.output_mode}"
    for column in sorted(before.watermarks.keys() ^ now.watermarks.keys()):
        change = "no longer has" if column in before.watermarks else "now has"
        yield f"event-time column {column} {change} a watermark, by which its state ends"
    for name, old, new in _other_settings(before, now, (WATERMARK_POLICY,)):
        yield f"{name} was {old} and is {new}, but Spark goes on with that of the checkpoint"


def _other_settings(
    before: StreamDefinition, now: StreamDefinition, names: tuple[str, ...]
) -> Iterator[tuple[str, str, str]]:
    for name in names:
        new = now.settings.get(name)
        old = before.settings.get(name, new)
        if old is not None and new is not None and old.casefold() != new.casefold():
            yield name, old, new


def _other_state(before: tuple[StateOperator, ...], now: tuple[StateOperator, ...]) -> Iterator[str]:
    names, new_names = ([each.name for each in operators] for operators in (before, now))
    if names != new_names:
        yield f"it kept state for {_listed(names)} and now needs it for {_listed(new_names)}"
        return
    for old, new in zip(before, now, strict=True):
        if not old.differs(new):
            continue
        if old.keys != new.keys:
            yield f"the state of its {old.name} is filed by {_listed(old.keys)}, not by {_listed(new.keys)}"
        elif old.values != new.values:
            yield f"the state of its {old.name} holds {_listed(old.values)}, not {_listed(new.values)}"
        else:
            yield f"the columns from which its {old.name} is computed are computed in another way"


def _compatible(before: StreamDefinition, now: StreamDefinition) -> Iterator[str]:
    for name in sorted(now.sources.keys() - before.sources.keys()):
        yield f"source {name} is new: {now.sources[name]} is read from its beginning"
    for name in sorted(before.sources.keys() - now.sources.keys()):
        yield f"source {name} is gone: its rows stay, and if it comes back all of {before.sources[name]} is read again"
    for column, delay in sorted(now.watermarks.items()):
        if (old := before.watermarks.get(column, delay)) != delay:
            yield f"the watermark on {column} waits {delay} instead of {old}, from the next batch on"
    for name, old, new in _other_settings(before, now, STATE_SETTINGS):
        yield f"its state keeps the {name} with which it began, {old}; {new} is for a new checkpoint"
    if before.query == now.query:
        return
    if now.operators:
        yield "its query has changed: state that is open holds rows of the old query beside those of the new one"
    else:
        yield "its query has changed: rows that are written stay as they are, new rows come from the new query"


def _same_in_any_case(keys: tuple[str, ...] | None) -> frozenset[str] | None:
    """The order of keys means nothing, and neither do capital letters."""
    return None if keys is None else frozenset(key.casefold() for key in keys)


def _write_description(stream: StreamDefinition) -> str:
    if stream.keys is None:
        return {"append": "appended", "complete": "replaced in each batch"}.get(stream.output_mode, "handed on")
    return f"updated by {_listed(stream.keys)}" if stream.keys else "updated as one"


def _listed(parts: tuple[str, ...] | list[str]) -> str:
    return ", ".join(parts) or "nothing"
