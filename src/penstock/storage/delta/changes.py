"""How much changed in a Delta table between two of its versions, read from its log."""

from __future__ import annotations

import json
from dataclasses import dataclass

from penstock.storage.delta.commits import CommitOutOfReach, read_commit
from penstock.storage.filesystem import Storage


@dataclass(frozen=True, slots=True)
class TableChange:
    """What the commits between two versions did to the rows of a table, not counting files that were only rewritten.

    `added` and `removed` are the bytes of data files; a file of which some rows were marked as deleted counts as none,
    but makes `removes` true.
    """

    added: int = 0
    removed: int = 0
    removes: bool = False
    adds: bool = False

    def __bool__(self) -> bool:
        """Whether a row may have changed."""
        return self.adds or self.removes


def change_between(uri: str, before: int, after: int) -> TableChange:
    """Returns what changed in the table at `uri` after version `before`, up to `after`.

    Raises:
        CommitOutOfReach: a commit was cleaned up.
        ValueError, KeyError: a commit is no Delta commit.
        OSError, PenstockError: what `Storage` raises.
    """
    storage, added, removed, adds, removes = Storage(uri), 0, 0, False, False
    for version in range(before + 1, after + 1):
        content = read_commit(storage, version)
        if content is None:
            raise CommitOutOfReach(f"commit {version} no longer exists")
        files: dict[str, dict[str, int]] = {"add": {}, "remove": {}}
        for line in content.splitlines():
            for action, found in files.items():
                if line.startswith(f'{{"{action}"'):
                    file = json.loads(line)[action]
                    if file.get("dataChange", True):
                        found[str(file["path"])] = int(file.get("size") or 0)
        same = files["add"].keys() & files["remove"].keys()
        adds = adds or bool(files["add"].keys() - same)
        removes = removes or bool(files["remove"])
        added += sum(size for path, size in files["add"].items() if path not in same)
        removed += sum(size for path, size in files["remove"].items() if path not in same)
    return TableChange(added, removed, removes, adds)
