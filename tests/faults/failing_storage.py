"""Places at which the storage can fail a flow, and the means to let it fail there.

Of Spark's own `FailureInjectionCheckpointFileManager` (its published `-tests` jar) nothing is used: it fails writes and
renames of checkpoints only, by switches inside of Scala objects, and that jar wants those of Spark's whole test suite.
A rule of Byteman, which holds threads in the crash-point sweep already, fails any call of the file system, by path:
reads and listings as well, and what Delta writes. It stands below Hadoop's checksums and below every file manager.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from pyspark.sql import SparkSession
from tests.faults import byteman
from tests.faults.six_flows import KINDS, SixFlows

from penstock.config import load_project
from penstock.errors import PenstockError, SeveralErrors
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update
from penstock.spark._jvm import jvm

REASON: Final = "Input/output error"
"""What Linux says when a disk does not answer."""

NO_SPACE: Final = "No space left on device"

_CHECKPOINT: Final = "checkpoints/shop/{table}/{table}/0"
_STATE: Final = f"{_CHECKPOINT}/state/0/[0-9]+"
_LOG: Final = "tables/shop/{table}/_delta_log"
TWICE: Final = "max_flow_retries: 2, "
_RETRIES: Final = f"retries: {{{TWICE}first_delay: 0.1 seconds, longest_delay: 0.2 seconds}}\n"
_SNAPSHOTS_ONLY: Final = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"}


@dataclass(frozen=True, slots=True)
class Place:
    """A call of the local file system, for files whose path below the storage matches `path`."""

    name: str
    call: byteman.Call
    path: str
    error: str = "java.io.IOException"
    reason: str = REASON


HowOften = Literal["once", "always"]
_FILES: Final[tuple[str, ...]] = ("once", "always", "met")  # the first two ask for a failure, the last tells of one

Places = Mapping[str, Place]
"""Where each kind of flow fails."""

PLAN_NAMED: Final = Place("a plan gets its name", byteman.RENAME, f"{_CHECKPOINT}/offsets/[0-9]+")
COMMIT_NAMED: Final = Place("a commit gets its name", byteman.RENAME, f"{_CHECKPOINT}/commits/[0-9]+")
DATA_OPENED: Final = Place("a data file is opened", byteman.CREATE, "tables/shop/{table}/part-[^/]*[.]parquet")
TABLE_NAMED: Final = Place("a commit of Delta gets its name", byteman.RENAME, f"{_LOG}/[0-9]{{{{20}}}}[.]json")
CHANGES_NAMED: Final = Place("changes of state get their name", byteman.RENAME, f"{_STATE}/[0-9]+[.]changelog")
SNAPSHOT_NAMED: Final = Place("a snapshot of state gets its name", byteman.RENAME, f"{_STATE}/[0-9]+[.]zip")

WRITES: Final[Places] = {
    "append": PLAN_NAMED,
    "quarantine": COMMIT_NAMED,
    "SCD1": DATA_OPENED,
    "SCD2": TABLE_NAMED,
    "windows": CHANGES_NAMED,
    "dedup": SNAPSHOT_NAMED,
}
"""Every kind of flow fails to write in another place; `dedup` keeps its state as snapshots only."""

READS: Final[Places] = {
    "append": Place("the commits are listed", byteman.LIST, f"{_CHECKPOINT}/commits"),
    "quarantine": Place("the plans are listed", byteman.LIST, f"{_CHECKPOINT}/offsets"),
    "SCD1": Place("a commit of Delta is opened", byteman.OPEN, f"{_LOG}/[0-9]{{{{20}}}}[.]json"),
    "SCD2": Place("the log of Delta is listed", byteman.LIST, _LOG),
    "windows": Place("changes of state are opened", byteman.OPEN, f"{_STATE}/[0-9]+[.]changelog"),
    "dedup": Place("a snapshot of state is opened", byteman.OPEN, f"{_STATE}/[0-9]+[.]zip"),
}
"""Every kind of flow fails to read in another place, some of them before their first batch."""

NO_LINKS: Final[Places] = dict.fromkeys(
    KINDS,
    Place("links are made", byteman.LINK, f"{_LOG}/[0-9]{{{{20}}}}[.]json", "java.nio.file.FileSystemException"),
)
"""A disk that has no hard links, for the commits of every flow."""

FAILING_AND_FULL: Final[Places] = {
    "append": PLAN_NAMED,
    "quarantine": replace(DATA_OPENED, name="a data file is opened on a full disk", reason=NO_SPACE),
}
"""One kind of flow fails as with `WRITES`, another has no space left."""

ALL: Final = (WRITES, READS, NO_LINKS, FAILING_AND_FULL)


@dataclass(frozen=True, slots=True)
class Switches:
    """Lets the storage fail in a JVM that was started with its `environment`: the rules look for files in `folder`."""

    folder: Path

    def environment(self) -> dict[str, str]:
        """Returns the environment for the start of that JVM."""
        rules = {self._rule(place, kind) for places in ALL for kind, place in places.items()}
        rules |= {self._slow(call) for call in (byteman.RENAME, byteman.CREATE, byteman.OPEN, byteman.LIST)}
        return byteman.environment("".join(sorted(rules)), self.folder / "rules.btm")

    @contextmanager
    def failing(self, places: Places, how_often: HowOften = "once") -> Iterator[Callable[[], set[str]]]:
        """Lets the storage fail at each of these places; yields what tells the kinds of flows that have met it."""
        for kind, place in places.items():
            self._file(place, kind, how_often).touch()
        try:
            yield lambda: {kind for kind, place in places.items() if self._file(place, kind, "met").exists()}
        finally:
            for kind, place in places.items():
                for name in _FILES:
                    self._file(place, kind, name).unlink(missing_ok=True)

    @contextmanager
    def slow(self) -> Iterator[None]:
        """Lets each call for a file below a storage take a fifth of a second longer."""
        self._slowly.touch()
        try:
            yield
        finally:
            self._slowly.unlink()

    @property
    def _slowly(self) -> Path:
        return self.folder / "slow"

    def _slow(self, call: byteman.Call) -> str:
        return byteman.rule(
            f"slow: {call.name}",
            call,
            "[.]penstock/.*",
            "Thread.sleep(200)",
            condition="slow.exists()",
            bind=f'slow = new java.io.File("{self._slowly}")',
        )

    def _rule(self, place: Place, kind: str) -> str:
        files = ((name, self._file(place, kind, name)) for name in _FILES)
        return byteman.rule(
            f"{kind}: {place.name}",
            place.call,
            place.path.format(table=KINDS[kind]),
            f'met.createNewFile(); THROW new {place.error}("{place.reason}")',
            condition="(once.delete() OR always.exists())",
            bind="; ".join(f'{name} = new java.io.File("{file}")' for name, file in files),
        )

    def _file(self, place: Place, kind: str, name: str) -> Path:
        return self.folder / f"{kind}, {place.name}.{name}"


class FailingFlows:
    """The six flows, run in this process on the session of the tests."""

    def __init__(self, directory: Path, spark: SparkSession) -> None:
        self.flows = SixFlows(directory)
        self._spark = spark
        settings, pipeline = directory / "penstock.yml", directory / "pipeline.py"
        settings.write_text(settings.read_text() + _RETRIES)
        text = pipeline.read_text()
        told = rf"\1, spark_conf={_SNAPSHOTS_ONLY}\2"
        text, count = re.subn(rf"(@dlt[.]table[(].*)([)].*\ndef {KINDS['dedup']}[(])", told, text)
        assert count == 1
        pipeline.write_text(text)

    def without_limit(self) -> None:
        """Leaves it to Penstock from now on how often a flow is tried again."""
        settings = self.flows.directory / "penstock.yml"
        settings.write_text(settings.read_text().replace(TWICE, ""))

    def run(self, *tables: str, stop: threading.Event | None = None) -> Sequence[PenstockError]:
        """Runs an update, of some tables or all, as if nobody had seen them; returns the errors with which it ended.

        With `stop` it is a continuous one.
        """
        jvm(self._spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
        config = load_project(self.flows.directory).with_run_options(continuous=stop is not None)
        try:
            return run_update(config, RefreshSelection(tables), spark=self._spark, stop=stop).errors
        except SeveralErrors as several:
            return several.errors
        except PenstockError as error:
            return (error,)
