"""The state stores in a checkpoint: which there are, and whether the next start finds what it loads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from penstock.storage.checkpoint.folder import CheckpointFolder, numbers_in
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion, json_object, versioned_lines
from penstock.storage.filesystem import Storage

_VERSIONS = frozenset({"v1", "v2"})
_STORE_FILE = re.compile(r"^(\d+)(?:_[^.]+)?\.(changelog|delta|zip|snapshot)$")
_ANY_STATE_FILE = re.compile(r"state/\d+/(?:.*/)?(\d+)(?:_[^./]+)?\.(?:changelog|delta|zip|snapshot)")
_WHOLE = {"zip", "snapshot"}
_DEFAULT = "default"
_LIMIT = "globalLimit"


@dataclass(frozen=True, slots=True)
class StateStore:
    """A named store of an operator, kept in so many partitions."""

    name: str
    partitions: int


@dataclass(frozen=True, slots=True)
class OperatorState:
    """A stateful operator of a query: its number in the plan, Spark's name for it, its stores.

    Without keys by which it could be divided, all of its state is in the first partition, whatever number Spark notes.
    """

    number: int
    name: str
    stores: tuple[StateStore, ...]
    has_keys: bool = True


@dataclass(slots=True)
class _Versions:
    """The versions of one store's partition that its files hold: whole ones, and changes from the one before."""

    whole: set[int] = field(default_factory=set)
    changes: dict[int, str] = field(default_factory=dict)


def operators(folder: CheckpointFolder) -> Iterator[tuple[int, OperatorState | None]]:
    """Yields the stateful operators by number, None for one whose description is missing or cannot be read."""
    numbers = {int(part) for name in folder.below("state") if (part := name.partition("/")[0]).isdecimal()}
    for number in sorted(numbers):
        file = _metadata_file(folder, number)
        try:
            name, stores = ("", ()) if file is None else parse_operator(folder.read(file))
        except (DamagedFile, UnknownVersion, FileNotFoundError):
            file = None
        if file is None:
            yield number, None
        elif name != _LIMIT and _key_columns(folder, number) != 0:
            yield number, OperatorState(number, name, stores)
        else:
            yield number, OperatorState(number, name, tuple(replace(each, partitions=1) for each in stores), False)


def parse_operator(content: bytes) -> tuple[str, tuple[StateStore, ...]]:
    """Reads the description of a stateful operator: Spark's name for it, and its stores.

    Raises:
        DamagedFile: it is empty, ends early, or holds something else.
        UnknownVersion: another Spark wrote it.
    """
    _, lines = versioned_lines(content, _VERSIONS)
    if not lines:
        raise DamagedFile("ends after its first line")
    document = json_object(lines[0])
    try:
        stores = tuple(
            StateStore(str(each["storeName"]), int(each["numPartitions"])) for each in document["stateStoreInfo"]
        )
        return str(document["operatorInfo"]["operatorName"]), stores
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile("holds JSON of another form") from error


def state_partitions(checkpoint: Storage) -> int | None:
    """Returns into how many partitions the state of a query is divided; None when it has none, or it is not known.

    All operators of a query have the same number, for the life of the checkpoint.
    """
    for operator in numbers_in(checkpoint, "state"):
        place = f"state/{operator}/_metadata"
        newer = numbers_in(checkpoint, f"{place}/v2")
        try:
            _, stores = parse_operator(
                checkpoint.read_bytes(f"{place}/v2/{newer[-1]}" if newer else f"{place}/metadata")
            )
        except (FileNotFoundError, DamagedFile, UnknownVersion):
            continue
        for store in stores:
            return store.partitions
    return None


def parse_state_schema(content: bytes) -> int | None:
    """Reads the schema of a state store, two texts of JSON, as Spark 4.2 writes it for most operators.

    Returns how many columns the key has; None for a schema of several column families, which is not read.

    Raises:
        DamagedFile: it ends early, or holds something else.
    """
    read = _Java(content)
    if read.text() != "v2":
        return None  # `v3`, of several column families
    key, _ = (json_object("".join(read.text() for _ in range(read.number()))) for _ in ("key", "value"))
    columns = key.get("fields")
    return len(columns) if isinstance(columns, list) else None


def state_version(name: str) -> int | None:
    """Returns the version of the state that a file of a checkpoint belongs to, None for any other file."""
    match = _ANY_STATE_FILE.fullmatch(name)
    return None if match is None else int(match[1])


def missing_state_files(folder: CheckpointFolder, operator: OperatorState, version: int) -> Iterator[str]:
    """Yields the files without which `version` of an operator's state cannot be loaded.

    A store's version is the newest whole one at or below it, and all changes since. Where no file at all is
    left, the newest one is named.
    """
    if version <= 0:
        return
    for store in operator.stores:
        for partition in range(store.partitions):
            place = f"state/{operator.number}/{partition}"
            place = place if store.name == _DEFAULT else f"{place}/{store.name}"
            found = _versions(folder, place)
            newest = max((whole for whole in found.whole if whole <= version), default=0)
            suffix = next((found.changes[each].rpartition(".")[2] for each in found.changes), "changelog")
            for step in range(version, newest, -1):
                if step not in found.changes:
                    yield f"{place}/{step}.{suffix}"


class _Java:
    """Reads what a Java `DataOutputStream` has written."""

    def __init__(self, content: bytes) -> None:
        self._left = content

    def number(self) -> int:
        return int.from_bytes(self._take(4))

    def text(self) -> str:
        # Java's own UTF-8 differs in characters that no JSON of a schema has in its structure.
        return self._take(int.from_bytes(self._take(2))).decode(errors="replace")

    def _take(self, count: int) -> bytes:
        if len(self._left) < count:
            raise DamagedFile("ends early")
        taken, self._left = self._left[:count], self._left[count:]
        return taken


def _key_columns(folder: CheckpointFolder, operator: int) -> int | None:
    file = f"state/{operator}/0/_metadata/schema"
    try:
        return parse_state_schema(folder.read(file)) if file in folder.files else None
    except DamagedFile:
        return None  # `verify` names it


def _versions(folder: CheckpointFolder, place: str) -> _Versions:
    found = _Versions()
    for name in folder.below(place):
        if match := _STORE_FILE.match(name):
            number, kind = int(match[1]), match[2]
            if kind in _WHOLE:
                found.whole.add(number)
            else:
                found.changes[number] = name
    return found


def _metadata_file(folder: CheckpointFolder, number: int) -> str | None:
    file = f"state/{number}/_metadata/metadata"
    if file in folder.files:
        return file
    newer = folder.numbers(f"state/{number}/_metadata/v2")
    return f"state/{number}/_metadata/v2/{newer[-1]}" if newer else None
