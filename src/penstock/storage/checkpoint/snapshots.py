"""Snapshots of state: what belongs to one, and which damaged ones Spark does without.

A snapshot of version N is `N.zip`, with the files below `SSTs/` that it names, or `N.snapshot`. Where changes are kept
as well, Spark gets over one that it cannot load (`spark.sql.streaming.stateStore.autoSnapshotRepair`): it starts from
an older snapshot, or from an empty state, and applies the changes since. Nothing is guessed on that way: the changes of
a batch are all that it did to the state, each of them must be there, and their blocks have checksums of their own.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.whole_files import MOST_BYTES_READ, damage_of

MOST_CHANGES_REPLAYED: Final = 500
"""So many changes Spark applies at most when it does without a snapshot, unless configured otherwise."""

# Not those of checkpoint format 2, `N_<id>.zip`: which changes belong to them, only Spark knows.
_PLAIN = re.compile(r"(?P<place>state/\d+/\d+(?:/[^/]+)?)/(?P<version>\d+)[.](?P<kind>zip|snapshot|changelog|delta)")
_SNAPSHOT = re.compile(r"state/\d+/\d+/(?:.*/)?(?:\d+(?:_[^./]+)?[.](?:zip|snapshot)|SSTs/[^/]+|logs/[^/]+)")
_PARTS: Final = (("sstFiles", "dfsSstFileName", "SSTs"), ("logFiles", "dfsLogFileName", "logs"))


@dataclass(frozen=True, slots=True)
class SnapshotDamage:
    """A file of a snapshot that Spark cannot do without: its name, and what is wrong as the end of "it …"."""

    file: str
    reason: str | None
    """None when it is gone."""


def is_snapshot_file(name: str) -> bool:
    """Whether a file of a checkpoint is a snapshot of state, or a part of one."""
    return _SNAPSHOT.fullmatch(name) is not None


def damaged_snapshots(folder: CheckpointFolder, *, version: int) -> Iterator[SnapshotDamage]:
    """Yields what is wrong with snapshots, without those that Spark can do without when it loads `version`.

    Raises:
        ConfigError: STORAGE_NOT_READABLE.
    """
    snapshots = _Snapshots(folder)
    for name in sorted(filter(is_snapshot_file, folder.files)):
        damage = snapshots.damage(name)
        if damage is not None and not snapshots.can_be_spared(name, version):
            yield damage


@dataclass
class _Snapshots:
    """What is known of the snapshots of a checkpoint; each file is read once."""

    folder: CheckpointFolder
    _damage: dict[str, SnapshotDamage | None] = field(default_factory=dict)

    def damage(self, name: str) -> SnapshotDamage | None:
        """What is wrong with a snapshot or with a part of it; None for a part, which its snapshot answers for."""
        if not re.search(r"[.](zip|snapshot)$", name):
            return None
        if name not in self._damage:
            self._damage[name] = self._found(name)
        return self._damage[name]

    def can_be_spared(self, name: str, version: int) -> bool:
        """Whether an older snapshot, or none, leads to the same version by changes that are all there and whole."""
        if (plain := _PLAIN.fullmatch(name)) is None:
            return False
        place, damaged = plain["place"], int(plain["version"])
        whole, changes = self._versions(place)
        older = [each for each in whole if each < damaged and self.damage(whole[each]) is None]
        start = max(older, default=0)
        steps = [changes.get(each) for each in range(start + 1, damaged + 1)]
        if max(version, damaged) - start > MOST_CHANGES_REPLAYED:
            return False
        return all(each is not None and damage_of(self.folder, each) is None for each in steps)

    def _versions(self, place: str) -> tuple[dict[int, str], dict[int, str]]:
        whole: dict[int, str] = {}
        changes: dict[int, str] = {}
        for name in self.folder.files:
            if (found := _PLAIN.fullmatch(name)) and found["place"] == place:
                (whole if found["kind"] in {"zip", "snapshot"} else changes)[int(found["version"])] = name
        return whole, changes

    def _found(self, name: str) -> SnapshotDamage | None:
        if (reason := damage_of(self.folder, name)) is not None:
            return SnapshotDamage(name, reason)
        place = name.rpartition("/")[0]
        for part, size in self._parts(name).items():
            file = self.folder.files.get(f"{place}/{part}")
            if file is None:
                return SnapshotDamage(f"{place}/{part}", None)
            reason = damage_of(self.folder, file.name)
            if reason is None and size is not None and file.size != size:
                reason = f"has {file.size} bytes and not {size}, as its snapshot says"
            if reason is not None:
                return SnapshotDamage(file.name, reason)
        return None

    def _parts(self, name: str) -> Mapping[str, int | None]:
        """The files beside an archive that belong to it, with their sizes."""
        if not name.endswith(".zip") or self.folder.files[name].size > MOST_BYTES_READ:
            return {}
        with zipfile.ZipFile(io.BytesIO(self.folder.read_unchecked(name))) as archive:
            if "metadata" not in archive.namelist():
                return {}
            _, _, content = archive.read("metadata").decode(errors="replace").partition("\n")
        try:
            metadata: Any = json.loads(content)
            return {
                f"{folder}/{part[key]}": part.get("sizeBytes")
                for list_of, key, folder in _PARTS
                for part in metadata.get(list_of) or ()
            }
        except (ValueError, AttributeError, KeyError, TypeError):
            return {}  # another Spark's
