"""The logs of a query's sources in its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.storage.checkpoint.folder import CheckpointFolder


def missing_source_files(folder: CheckpointFolder, source: str, offset: Any) -> Iterator[str]:
    """Yields the files that say what a source's offset means, as far as they are gone.

    These are the steps of a file source since the compacted one, or where a topic was begun; other sources have none.
    """
    match offset:
        case {"logOffset": int(last)}:
            steps = dict(steps_of(folder, source))
            compacted = max((step for name, step in steps.items() if name.endswith(".compact")), default=-1)
            present = set(steps.values())
            yield from (f"sources/{source}/{step}" for step in range(compacted + 1, last + 1) if step not in present)
        case _ if is_topic_offset(offset):
            if f"sources/{source}/0" not in folder.files:
                yield f"sources/{source}/0"
        case _:
            return


def steps_of(folder: CheckpointFolder, source: str) -> Iterator[tuple[str, int]]:
    """Yields the files of a source's log, each with its number; a compacted step has the number of its last one."""
    for name in folder.below(f"sources/{source}"):
        number = name.removesuffix(".compact")
        if number.isdecimal():
            yield f"sources/{source}/{name}", int(number)


def is_topic_offset(offset: Any) -> bool:
    """Whether an offset is Kafka's: by topic the next offset of each partition."""
    return isinstance(offset, dict) and bool(offset) and all(_is_topic(partitions) for partitions in offset.values())


def _is_topic(partitions: Any) -> bool:
    return isinstance(partitions, dict) and all(str(each).isdecimal() for each in partitions)
