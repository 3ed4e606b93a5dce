"""A storage of four flows, one file of it damaged: what a run then does, judged by tables that Python computes."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from tests.oracle.tables import differences, read_table, stored
from tests.spark.pipeline_project import PipelineProject

from penstock.config import RetrySettings
from penstock.errors import PenstockError, SeveralErrors
from penstock.spark._jvm import jvm

_CODE = """
@dlt.table(table_properties={{"delta.checkpointInterval": "2"}})
def orders():
    files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
    return files.option("cloudFiles.inferColumnTypes", "true").load("{arrived}").select("id", "kind")

@dlt.table
def counts():
    return dlt.read_stream("orders").groupBy("kind").count()

@dlt.table(spark_conf={{"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"}})
def seen():
    return dlt.read_stream("orders").select("id").dropDuplicates(["id"])

@dlt.table
@dlt.expect_unique("kind", action="drop")
def kinds():
    return dlt.read_stream("orders").select("kind")
"""
_FILES: Final = (
    [(1, "a"), (2, "b")],
    [(2, "a"), (3, "c")],
    [(4, "a"), (3, "d"), (5, "b")],
    [(5, "d"), (6, "e"), (1, "a")],
)
"""The rows of the files that arrive, one before each run; the last one after the damage."""
TABLES: Final = ("orders", "counts", "seen", "kinds")
_ONE_TRY: Final = RetrySettings(max_flow_retries=1, first_delay=0.01, longest_delay=0.01)

Tables = Mapping[str, list[dict[str, Any]]]


def expected(files: int) -> Tables:
    """Returns what the tables must hold after so many files."""
    rows = [row for file in _FILES[:files] for row in file]
    return {
        "orders": [{"id": number, "kind": kind} for number, kind in rows],
        "counts": [{"kind": kind, "count": count} for kind, count in Counter(kind for _, kind in rows).items()],
        "seen": [{"id": number} for number in {number for number, _ in rows}],
        "kinds": [{"kind": kind} for kind in {kind for _, kind in rows}],
    }


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file of the storage: its kind, its pattern below `.penstock`, and that of the one to take its place.

    Of the files that a pattern finds it is the newest: the last by name.
    """

    kind: str
    name: str
    pattern: str
    other: str

    def find(self, storage: Path) -> Path:
        """Returns where it is."""
        return _newest(storage, self.pattern)

    def find_other(self, storage: Path) -> Path:
        """Returns where the older or foreign file is."""
        return _newest(storage, self.other)


_PLACE = "checkpoints/shop/{0}/{0}/0"
_ORDERS, _COUNTS, _SEEN, _KINDS = (_PLACE.format(name) for name in TABLES)
_LOG = "tables/shop/{}/_delta_log/"
FILES: Final = (
    DamagedFile("offsets", "newest, of files", f"{_ORDERS}/offsets/2", f"{_ORDERS}/offsets/1"),
    DamagedFile("offsets", "newest, of a table", f"{_COUNTS}/offsets/2", f"{_COUNTS}/offsets/1"),
    DamagedFile("commits", "newest", f"{_SEEN}/commits/2", f"{_SEEN}/commits/1"),
    DamagedFile("sources", "newest step of files", f"{_ORDERS}/sources/*/2", f"{_ORDERS}/sources/*/1"),
    DamagedFile("state", "snapshot", f"{_SEEN}/state/0/0/3.zip", f"{_SEEN}/state/0/0/2.zip"),
    DamagedFile("state", "newest changes", f"{_COUNTS}/state/0/0/3.changelog", f"{_COUNTS}/state/0/0/2.changelog"),
    DamagedFile("state", "older changes", f"{_COUNTS}/state/0/0/1.changelog", f"{_COUNTS}/state/0/1/1.changelog"),
    DamagedFile("state", "operator", f"{_COUNTS}/state/0/_metadata/**/*", f"{_SEEN}/state/0/_metadata/**/*"),
    DamagedFile("state", "schema", f"{_COUNTS}/state/0/*/_metadata/schema", f"{_SEEN}/state/0/*/_metadata/schema"),
    DamagedFile("query id", "metadata", f"{_SEEN}/metadata", f"{_COUNTS}/metadata"),
    DamagedFile("notes", "of the flow", f"{_SEEN}/penstock.json", f"{_COUNTS}/penstock.json"),
    DamagedFile("notes", "compared version", f"{_KINDS}/../compared_with.json", f"{_SEEN}/penstock.json"),
    DamagedFile("notes", "inferred schema", "schemas/shop/orders/orders/**/[0-9]*", f"{_SEEN}/penstock.json"),
    DamagedFile("Delta commit", "newest", f"{_LOG.format('seen')}*3.json", f"{_LOG.format('seen')}*2.json"),
    DamagedFile("Delta commit", "older", f"{_LOG.format('seen')}*1.json", f"{_LOG.format('kinds')}*1.json"),
    DamagedFile(
        "Delta commit", "of a stream's source", f"{_LOG.format('orders')}*3.json", f"{_LOG.format('orders')}*2.json"
    ),
    DamagedFile(
        "Delta checkpoint",
        "checkpoint",
        f"{_LOG.format('orders')}*.checkpoint.parquet",
        "tables/shop/orders/part-*.parquet",
    ),
    DamagedFile(
        "Delta checkpoint", "_last_checkpoint", f"{_LOG.format('orders')}_last_checkpoint", f"{_SEEN}/metadata"
    ),
    DamagedFile("event log", "newest segment", "events/*.jsonl", "events/000001-0001.jsonl"),
)


def _empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")
    if _checksum(path).exists():
        _checksum(path).write_bytes(b"")


def _tear(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    _checksum(path).unlink(missing_ok=True)


def _delete(path: Path, _: Path) -> None:
    path.unlink()
    _checksum(path).unlink(missing_ok=True)


def _flip(path: Path, _: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)


def _replace(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)
    if "/state/" in path.as_posix():
        return  # nothing else tells one version of a state from another
    if _checksum(other).exists():
        shutil.copyfile(_checksum(other), _checksum(path))
    else:
        _checksum(path).unlink(missing_ok=True)


DAMAGES: Final[Mapping[str, Callable[[Path, Path], None]]] = {
    "emptied": _empty,  # with Hadoop's checksum, as after a power loss
    "cut in half": _tear,  # where nothing keeps checksums
    "deleted": _delete,
    "a bit flipped": _flip,  # the checksum, where there is one, stays
    "another in its place": _replace,  # an older or a foreign one, with its checksum unless it is state
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did about a damage: `result` is `recovered`, `refused` or what is wrong, `conditions` what it said."""

    file: DamagedFile
    damage: str
    result: str
    conditions: tuple[str, ...] = ()
    detail: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the run either did everything right or nothing."""
        return self.result in {"recovered", "refused"}


class PreparedStorage:
    """The storage after three runs, of which each case gets a copy; a fourth file has arrived since."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self._folder = folder
        self._spark = spark
        self._cases = 0
        self._project = PipelineProject(folder / "prepared", spark, retries=_ONE_TRY)
        self._project.directory.mkdir()
        self._project.write(_CODE.format(arrived=folder / "in"))
        arrivals = PipelineProject(folder, spark)
        for number, rows in enumerate(_FILES):
            arrivals.arrive(str(number), [{"id": each, "kind": kind} for each, kind in rows])
            if number < len(_FILES) - 1:
                assert self._project.run().errors == ()
        assert self._differing(self._project.directory, expected(3)) == []

    def case(self, file: DamagedFile, damage: str) -> Outcome:
        """Damages a file of a copy and runs; after a refusal, once more with the file as it was."""
        self._cases += 1
        project = PipelineProject(self._folder / f"case{self._cases}", self._spark, retries=_ONE_TRY)
        shutil.copytree(self._project.directory, project.directory)
        storage = project.directory / ".penstock"
        path = file.find(storage)
        kept = {each: each.read_bytes() for each in (path, _checksum(path)) if each.exists()}
        DAMAGES[damage](path, file.find_other(storage))
        conditions, detail = self._run(project)
        result = self._judged(project.directory, refused=bool(conditions), unreadable=_table_of(file))
        if result == "refused" and {"INTERNAL_ERROR", "FLOW_FAILED"} & {*conditions}:
            result = "without a name"
        elif result == "refused":
            _checksum(path).unlink(missing_ok=True)
            for each, content in kept.items():
                each.write_bytes(content)
            again, told = self._run(project)
            if again or self._differing(project.directory, expected(4)):
                result, detail = "refused and changed", f"{detail} | then {again} {told}"
        shutil.rmtree(project.directory)
        return Outcome(file, damage, result, conditions, detail)

    def _run(self, project: PipelineProject) -> tuple[tuple[str, ...], str]:
        """Returns the conditions with which a run ended, and the first one's message; none when it exits with 0."""
        jvm(self._spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
        errors: tuple[PenstockError, ...]
        try:
            errors = project.run().errors
        except SeveralErrors as several:
            errors = several.errors
        except PenstockError as error:
            errors = (error,)
        except Exception as error:  # noqa: BLE001 - what the command line calls an internal error
            return ("INTERNAL_ERROR",), f"{type(error).__name__}: {error}"[:300]
        return tuple(dict.fromkeys(each.condition for each in errors)), errors[0].message[:300] if errors else ""

    def _judged(self, directory: Path, *, refused: bool, unreadable: str | None) -> str:
        if not refused:
            different = self._differing(directory, expected(4))
            return f"SILENT: {'; '.join(different)}" if different else "recovered"
        before, after = expected(3), expected(4)
        for table in TABLES:
            try:
                rows = read_table(stored(directory / ".penstock", "shop", table))
            except Exception:  # whatever the reader says of a damaged log
                if table != unreadable:
                    raise
                continue
            if table != unreadable and differences(rows, before[table]) and differences(rows, after[table]):
                return f"CHANGED: {table}"
        return "refused"

    def _differing(self, directory: Path, wanted: Tables) -> list[str]:
        found = []
        for table, rows in wanted.items():
            try:
                lines = differences(read_table(stored(directory / ".penstock", "shop", table)), rows)
            except Exception as error:  # noqa: BLE001 - whatever the reader says of a damaged log
                lines = [f"{type(error).__name__}: {error}"[:200]]
            if lines:
                found.append(f"{table}: {' '.join(lines)}")
        return found


def _table_of(file: DamagedFile) -> str | None:
    """The table whose own log a file is part of."""
    parts = file.pattern.split("/")
    return parts[2] if parts[0] == "tables" else None


def _newest(storage: Path, pattern: str) -> Path:
    found = sorted(each for each in storage.glob(pattern) if each.is_file() and not each.name.startswith("."))
    assert found, f"{pattern} finds nothing"
    return found[-1]


def _checksum(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")
