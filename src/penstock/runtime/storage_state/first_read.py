"""How a flow first reads a table of the pipeline: commit by commit where that gives the same rows as a snapshot.

A new Delta stream takes a snapshot of the table, and puts its files in order: five Spark jobs, and again at the next
start when its only batch has come from the snapshot. The log of a young table that only grew says the same in a few
small files, and in the order in which the rows came (docs/decisions/first-read-from-the-log.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.errors import ConfigError
from penstock.storage import Storage
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion, parse_planned_batch
from penstock.storage.delta.commits import commit_version

FROM_THE_FIRST_VERSION = {"startingVersion": "0"}
_COMMITS = 30  # each is a request to the storage
_BYTES = 10_000_000
_INDIFFERENT = {"maxfilespertrigger", "maxbytespertrigger", "skipchangecommits", "ignorechanges", "ignoredeletes"}
_GROWS = {"commitInfo", "protocol", "metaData", "txn", "add", "domainMetadata"}


def reads_from_the_first_version(checkpoint: str, source: str, table: str, options: Mapping[str, str]) -> bool:
    """Returns whether `source` of a flow can read the table at `table` from version 0 on instead of a snapshot.

    So it is when the whole log is there, short, and holds nothing but files that were added, with one schema; and when
    no batch of `checkpoint` ends within a snapshot, where offsets count files in another order. A batch that was
    planned the one way holds the same rows the other way, so the answer may change between two starts.
    """
    if not {option.casefold() for option in options} <= _INDIFFERENT:
        return False
    try:
        return _outside_a_snapshot(Storage(checkpoint), source) and _only_grew(Storage(f"{table}/_delta_log"))
    except ConfigError:  # Spark reaches more places than Python does
        return False


def _outside_a_snapshot(checkpoint: Storage, source: str) -> bool:
    try:
        first = parse_planned_batch(checkpoint.read_bytes("offsets/0")).offsets.get(source)
    except FileNotFoundError:
        return not checkpoint.exists("offsets")
    except (DamagedFile, UnknownVersion):
        return False
    return isinstance(first, dict) and first.get("isStartingVersion") is False


def _only_grew(log: Storage) -> bool:
    commits = {version: entry for entry in log.list() if (version := commit_version(entry.name)) is not None}
    if len(commits) > _COMMITS or sum(entry.size for entry in commits.values()) > _BYTES:
        return False
    if list(commits) != list(range(len(commits))):
        return False
    shapes = set()
    for entry in commits.values():
        for line in log.read_text(entry.uri).splitlines():
            [(action, content)] = json.loads(line).items()
            if action not in _GROWS:
                return False
            if action == "metaData":
                shapes.add(_shape(content))
    return len(shapes) == 1 and None not in shapes


def _shape(metadata: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Returns what has to be the same in all versions; None when columns are mapped, so that names may change."""
    if metadata.get("configuration", {}).get("delta.columnMapping.mode", "none") != "none":
        return None
    return (str(metadata["schemaString"]), *map(str, metadata.get("partitionColumns", ())))
