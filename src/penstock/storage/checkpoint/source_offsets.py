"""Up to where each source of a query was read, as the logs say, and how to make it go on elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.storage.checkpoint.folder import CheckpointFolder, numbers_in, replace_file
from penstock.storage.checkpoint.logs import (
    OFFSET_LOG_VERSION,
    VOID_OFFSET,
    DamagedFile,
    UnknownVersion,
    parse_planned_batch,
)
from penstock.storage.filesystem import Storage
from penstock.storage.layout import StorageLayout


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


def newest_batch(checkpoint_uri: str) -> int | None:
    """Returns the newest batch that was planned; None before the first."""
    return max(numbers_in(Storage(checkpoint_uri), "offsets"), default=None)


def newest_offsets(checkpoint_uri: str, *, back: int = 0) -> Mapping[str, Any]:
    """Returns up to where the newest batch reads each source, or an earlier one, so many `back`.

    Empty when the checkpoint does not have them.
    """
    checkpoint = Storage(checkpoint_uri)
    planned = numbers_in(checkpoint, "offsets")
    try:
        return parse_planned_batch(checkpoint.read_bytes(f"offsets/{planned[-1 - back]}")).offsets
    except (IndexError, DamagedFile, UnknownVersion):
        return {}


def move_source(checkpoint_uri: str, source: str, offset: Mapping[str, Any] | None) -> bool:
    """Makes the next start read a source from `offset` on, or with None from its beginning.

    Called while no query uses the checkpoint. Nothing happens when the newest batch is not committed, because its
    rows are still wanted. On its start Spark asks a source for the newest batch again, so the batch before that is
    given the same offset: there are no rows between the two. Returns whether anything was written; a process
    that dies in between leaves a checkpoint on which it can be called again.
    """
    checkpoint = Storage(checkpoint_uri)
    planned = numbers_in(checkpoint, "offsets")
    if not planned or not checkpoint.exists(f"commits/{planned[-1]}"):
        return False
    text = VOID_OFFSET if offset is None else json.dumps(dict(offset), separators=(",", ":"))
    written = [_rewrite(checkpoint, batch, source, text) for batch in planned[-2:]]
    return all(written)


def _rewrite(checkpoint: Storage, batch: int, source: str, offset: str) -> bool:
    version, newline, rest = checkpoint.read_text(f"offsets/{batch}").partition("\n")
    if version != OFFSET_LOG_VERSION:
        return False
    lines = [f"{source}:{offset}" if line.startswith(f"{source}:") else line for line in rest.split("\n")]
    replace_file(checkpoint, f"offsets/{batch}", version + newline + "\n".join(lines))
    return True


def pending_versions(layout: StorageLayout) -> dict[str, int]:
    """Returns, by a table's own id, the oldest version that the newest checkpoint of some flow still names.

    Also of flows that the pipeline no longer declares: one day they may be declared again. A batch that was planned
    and not finished is read again, so that the end of the batch before counts, too.
    """
    storage = Storage(layout.uri)
    oldest: dict[str, int] = {}
    for flow in _flow_folders(storage, f"{layout.uri}/checkpoints"):
        generations = numbers_in(storage, flow)
        for offset in _beginnings(storage, f"{flow}/{generations[-1]}") if generations else ():
            if isinstance(offset, dict) and "reservoirId" in offset and "reservoirVersion" in offset:
                table, version = str(offset["reservoirId"]), int(offset["reservoirVersion"])
                oldest[table] = min(version, oldest.get(table, version))
    return oldest


def _beginnings(storage: Storage, checkpoint: str) -> Iterator[Any]:
    """Yields where the flow's next batches begin, or may begin."""
    newest = newest_batch(checkpoint)
    yield from newest_offsets(checkpoint).values()
    if newest is not None and not storage.exists(f"{checkpoint}/commits/{newest}"):
        yield from newest_offsets(checkpoint, back=1).values()


def _flow_folders(storage: Storage, root: str) -> Iterator[str]:
    """Yields checkpoints/<schema>/<name>/<flow>."""
    level = [root]
    for _ in range(3):
        level = [entry.uri for folder in level for entry in storage.list(folder) if entry.is_directory]
    yield from level
