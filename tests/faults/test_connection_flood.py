"""A continuous run whose dashboard and metrics are flooded with connections goes on, and says that all is well.

`FAULT_SECONDS` is how long the flood lasts: 10 by default.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil
import pytest
from tests.cli_runner import Running, penstock
from tests.faults.flood import answers, flooded
from tests.faults.table import RecordProperty
from tests.oracle.tables import assert_table, read_table, stored
from tests.processes import end_family, wait_until

from penstock.storage import Storage, read_holder

pytestmark = pytest.mark.usefixtures("one_process")

_SECONDS: Final = float(os.environ.get("FAULT_SECONDS", "10"))
_FILE_SECONDS: Final = max(4.0, _SECONDS / 500)
_ROWS: Final = 10
_DESCRIPTORS: Final = 1024
_QUIET_BYTES: Final = 1_000_000

_PIPELINE = """
import dlt


def rows():
    return spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 10).json("in")


@dlt.table
def plain():
    return rows()


@dlt.table
@dlt.expect_or_quarantine("even", "id % 2 = 0")
def even():
    return rows()
"""


class Shop:
    """A project, its run, and the files that arrive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stderr = folder / "stderr"
        self._files = 0
        (folder / "in").mkdir()
        (folder / "pipeline.py").write_text(_PIPELINE)
        (folder / "penstock.yml").write_text(
            "name: shop\nschema: shop\nmaster: local[2]\nspark_conf:\n  spark.driver.memory: 600m\n"
            "  spark.sql.shuffle.partitions: 2\n"
        )

    @property
    def rows(self) -> list[dict[str, int]]:
        return [{"id": each} for each in range(_ROWS * self._files)]

    def file_arrives(self) -> None:
        lines = "".join(json.dumps({"id": _ROWS * self._files + each}) + "\n" for each in range(_ROWS))
        (self.folder / "arriving").write_text(lines)
        (self.folder / "arriving").rename(self.folder / "in" / f"{self._files:05}.json")
        self._files += 1

    def has_all(self) -> bool:
        with suppress(Exception):  # there is no table yet
            return all(len(self._stored(name)) == count for name, count in self._counts().items())
        return False

    def assert_tables(self) -> None:
        assert_table(self._stored("plain"), self.rows)
        assert_table(self._stored("even"), [row for row in self.rows if row["id"] % 2 == 0])

    def url(self, what: str) -> str:
        found = re.search(rf"{what}: (\S+)", self.stderr.read_text())
        assert found is not None, self.stderr.read_text()
        return found[1]

    def run(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "penstock.cli", "run", str(self.folder)]
        command += ["--continuous", "--ui", "--metrics-port", "0"]
        with self.stderr.open("w") as stderr:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, text=True, start_new_session=True
            )
        _, most = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (_DESCRIPTORS, most))  # what a shell gives
        return process

    def _stored(self, name: str) -> list[dict[str, int]]:
        return read_table(stored(self.folder / ".penstock", "shop", name))

    def _counts(self) -> dict[str, int]:
        return {"plain": len(self.rows), "even": len(self.rows) // 2}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.fixture
def command(shop: Shop) -> Iterator[Running]:
    process = shop.run()
    yield Running(process, ("run",))
    end_family(process.pid)
    process.wait(10)


@pytest.mark.timeout(600 + 2 * _SECONDS)
def test_a_run_goes_on_while_its_ports_are_flooded_with_connections(
    shop: Shop, command: Running, record_property: RecordProperty
) -> None:
    shop.file_arrives()
    command.wait_for(shop.has_all, what="the first rows", timeout=300)
    run, storage = psutil.Process(command.pid), Storage(str(shop.folder / ".penstock"))
    ports = [int(shop.url(what).split(":")[2].partition("/")[0]) for what in ("Dashboard", "Metrics")]
    listening = [each.laddr for each in run.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    record_property("sockets of the run that listen", len(listening))
    assert {each.ip for each in listening} == {"127.0.0.1"}
    most = before = open_files(run)
    with flooded(ports, silent=1100, trickling=50, reading=50) as flood:
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            shop.file_arrives()
            command.wait_for(shop.has_all, what="the rows of a file that arrived meanwhile", timeout=120)
            most = max(most, open_files(run), key=Counter.total)
            holder = read_holder(storage)
            assert holder is not None
            assert (datetime.now(UTC) - holder.heartbeat).total_seconds() < 40
            assert shop.stderr.stat().st_size < _QUIET_BYTES
            time.sleep(_FILE_SECONDS)
        assert answers(shop.url("Dashboard"), within=30), "a page is answered meanwhile"
        penstock("doctor", shop.folder).expect(0)
        status = penstock("status", shop.folder, "--json").expect(0).document
        assert (status["update"]["state"], status["update"]["error"]) == ("RUNNING", None)
    assert flood.made > 1200 * len(ports) or flood.closed > 0
    assert most.total() < before.total() + 100, f"the metrics endpoint has 64 connections at most: {most}"
    for what in ("Dashboard", "Metrics"):
        assert answers(shop.url(what), within=30), what
    shop.file_arrives()
    command.wait_for(shop.has_all, what="the rows of a file that arrived afterwards")
    dashboard = [each for each in run.children() if "penstock.dashboard" in each.cmdline()]
    command.signal(signal.SIGTERM)
    command.wait(120).expect(0)
    wait_until(lambda: not any(map(_runs, dashboard)), timeout=5, what="the dashboard to end with the run")
    shop.assert_tables()
    said = shop.stderr.read_text()
    assert "Traceback" not in said
    assert len(said) < _QUIET_BYTES
    record_property("connections", flood.made)
    record_property("bytes of stderr", len(said))


def open_files(process: psutil.Process) -> Counter[str]:
    """The file descriptors of a process by kind, so that a failure says what there was too much of."""
    found = Counter(f"{each.status} at {each.laddr.port}" for each in process.net_connections("tcp"))
    for file in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            kind = str(file.readlink())
            if not kind.startswith("socket:"):
                found[kind.partition(":")[0]] += 1
    return found


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
