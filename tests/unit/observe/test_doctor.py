"""What `penstock doctor` and the page Checks find: nothing in a sound storage, each damage once."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.recorded.checkpoints import HOURLY, RAW, copied_checkpoints, place
from typer.testing import CliRunner

from penstock.care.doctor.examination import examine, findings_of
from penstock.care.doctor.facts import StorageFacts, Writer, read_facts
from penstock.care.finding import Finding
from penstock.cli.main import app
from penstock.dashboard.log.live_log import LiveLog
from penstock.errors import DefinitionError, PenstockError
from penstock.events import EventLog, EventType, builders
from penstock.graph.identifier import Identifier
from penstock.observe.severity import Severity
from penstock.spark.session.setup.known_jars import jar_sets
from penstock.storage import LockHolder, LockOwner, Storage, StorageLayout, StorageLock, read_holder
from penstock.storage.process_resources import DiskSpace, LogFile, ProcessResources, disk_space, resources_of_run

GB = 10**9
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
OLD = Identifier("shop", "old_orders")


@pytest.fixture
def layout(recorded: Path, tmp_path: Path) -> StorageLayout:
    return copied_checkpoints(recorded, tmp_path / ".penstock")


@pytest.fixture
def facts(layout: StorageLayout) -> StorageFacts:
    """A sound storage on a disk with room."""
    return replace(read_facts(layout.uri), disk=DiskSpace(500 * GB, 1000 * GB), own_version="1.2.0")


def error_of(finding: Finding) -> PenstockError:
    assert finding.error is not None
    return finding.error


def only(facts: StorageFacts) -> Finding:
    [finding] = findings_of(facts)
    return finding


def test_a_sound_storage_has_no_findings(facts: StorageFacts, layout: StorageLayout) -> None:
    assert findings_of(facts) == ()
    found = examine(layout.uri)
    assert found.checkpoints == ("shop.hourly", "shop.raw", "shop.topic")
    assert found.tables == ("shop.hourly", "shop.raw", "shop.topic")
    assert not found.running
    with StorageLock(Storage(layout.uri)):
        assert examine(layout.uri).running


def test_before_the_first_run_there_is_nothing_to_find(tmp_path: Path) -> None:
    facts = read_facts(str(tmp_path / "nothing"))
    assert findings_of(replace(facts, disk=None)) == ()
    assert not (tmp_path / "nothing").exists()


def test_what_verify_finds_is_found(layout: StorageLayout) -> None:
    shutil.rmtree(place(layout, HOURLY))
    finding = examine(layout.uri).findings[0]
    assert (finding.severity, finding.condition) == (Severity.ERROR, "CHECKPOINT_LOST")
    assert finding.where == str(place(layout, HOURLY))
    assert finding.commands == ("penstock checkpoint show shop.hourly",)


@pytest.mark.parametrize("with_checkpoint", [True, False])
def test_a_table_that_cannot_be_opened_is_found_once(layout: StorageLayout, with_checkpoint: bool) -> None:
    table = RAW if with_checkpoint else OLD
    write_deltalake(layout.table(table), pa.table({"id": [1]}), mode="append")
    for commit in (Path(layout.table(table)) / "_delta_log").glob("*.json"):
        commit.write_text("{")
    found = [each for each in examine(layout.uri).findings if each.condition == "TABLE_NOT_READABLE"]
    assert [(each.severity, error_of(each).dataset) for each in found] == [(Severity.ERROR, str(table))]


def test_a_table_without_its_data_files_is_found(layout: StorageLayout) -> None:
    for number in range(3):
        write_deltalake(layout.table(OLD), pa.table({"id": [number], "p": ["a b"]}), mode="append", partition_by=["p"])
    gone, *_ = sorted(Path(layout.table(OLD)).rglob("*.parquet"))
    gone.unlink()
    [finding] = [each for each in examine(layout.uri).findings if error_of(each).dataset == str(OLD)]
    assert (finding.severity, finding.condition) == (Severity.ERROR, "DATA_FILES_MISSING")
    assert error_of(finding).facts == {
        "name": str(OLD), "version": "2", "missing": "1", "total": "3", "file": str(gone)
    }  # fmt: skip


def test_a_table_that_is_no_longer_declared_is_found_while_it_is_stored(layout: StorageLayout) -> None:
    error = DefinitionError("DATASET_NOT_DECLARED", dataset=str(OLD), name=OLD, word=OLD)
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="u") as log:
        log.append(
            EventType.PLANNING_INFORMATION, *builders.planning_warning(error.message), dataset=str(OLD), error=error
        )
    assert not [each for each in examine(layout.uri).findings if error_of(each).dataset == str(OLD)], "it is gone"
    write_deltalake(layout.table(OLD), pa.table({"id": [1]}))
    [finding] = [each for each in examine(layout.uri).findings if error_of(each).dataset == str(OLD)]
    assert (finding.severity, finding.condition) == (Severity.WARNING, "DATASET_NOT_DECLARED")
    assert (finding.where, finding.commands) == (layout.table(OLD), ("penstock drop shop.old_orders",))


def test_lines_of_the_log_that_were_skipped_are_counted_and_the_first_is_named(layout: StorageLayout) -> None:
    [segment] = Path(layout.events).glob("*.jsonl")
    lines = segment.read_text().splitlines(keepends=True)
    later = lines[4].replace('"event_type":"', '"event_type":"of_a_later_version_')
    segment.write_text("".join([*lines[:4], "not an event\n", later, *lines[4:]]))
    [finding] = [each for each in examine(layout.uri).findings if each.condition == "EVENT_LOG_LINES_SKIPPED"]
    assert error_of(finding).facts["lines"] == "2 lines"
    assert (finding.severity, finding.where) == (Severity.WARNING, f"{segment}:5")


def test_a_full_disk_is_found_before_it_is_full(facts: StorageFacts, tmp_path: Path) -> None:
    for free, total, low in ((900_000_000, 2 * GB, True), (4 * GB, 100 * GB, True), (4 * GB, 20 * GB, False)):
        assert bool(findings_of(replace(facts, disk=DiskSpace(free, total)))) is low, (free, total)
    finding = only(replace(facts, disk=DiskSpace(4 * GB, 100 * GB)))
    assert finding.condition == "DISK_SPACE_LOW"
    assert (error_of(finding).facts["free"], error_of(finding).facts["share"]) == ("4.0 GB", "4.0 %")
    assert finding.commands[0] == "penstock vacuum"
    known = disk_space(Storage(str(tmp_path / "not" / "yet")))
    assert known is not None
    assert 0 < known.total == shutil.disk_usage(tmp_path).total
    assert disk_space(Storage("memory://storage")) is None


def test_the_lock_of_a_process_that_is_gone_is_found(layout: StorageLayout, facts: StorageFacts) -> None:
    lock = StorageLock(Storage(layout.uri)).acquire()
    held = read_holder(Storage(layout.uri))
    lock.release()
    assert held is not None
    assert findings_of(replace(facts, holder=held)) == (), "this process lives"
    gone = LockHolder(LockOwner(2**22 + 1, socket.gethostname(), LONG_AGO), LONG_AGO, "t", held.machine, "born")
    finding = only(replace(facts, holder=gone))
    assert (finding.severity, finding.condition) == (Severity.WARNING, "STORAGE_LOCK_LEFT")
    assert (finding.where, finding.since) == (layout.lock, LONG_AGO)
    assert finding.commands == ("penstock run",)


def test_a_storage_that_a_later_version_has_written_is_found(facts: StorageFacts) -> None:
    def written(*versions: str) -> StorageFacts:
        return replace(facts, writers=tuple(Writer(each, LONG_AGO) for each in versions))

    for earlier in ("1.2", "1.2.0", "1.2.0.dev3", "0.9", "1.1.99", "None", ""):
        assert findings_of(written(earlier)) == (), earlier
    finding = only(written("1.10", "1.9", "1.1"))
    assert finding.condition == "STORAGE_WRITTEN_BY_LATER_VERSION"
    assert (error_of(finding).facts["version"], finding.since) == ("1.10", LONG_AGO)


def test_errors_come_before_warnings(facts: StorageFacts, layout: StorageLayout) -> None:
    shutil.rmtree(place(layout, RAW))
    found = findings_of(replace(read_facts(layout.uri), disk=DiskSpace(1, GB), writers=()))
    assert [each.severity for each in found] == [Severity.ERROR, Severity.WARNING]


def test_the_command_tells_findings_and_exits_with_three(layout: StorageLayout, tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n")
    runner = CliRunner(env={**os.environ, "COLUMNS": "80"})
    sound = runner.invoke(app, ["doctor", str(tmp_path)])
    assert sound.exit_code == 0
    assert not [line for line in sound.stdout.splitlines() if line.startswith(("Error", "Warning"))]
    assert "3 checkpoints and 3 tables looked at, event log, lock, disk and jars: nothing wrong." in sound.stderr
    shutil.rmtree(place(layout, HOURLY))
    told = runner.invoke(app, ["doctor", str(tmp_path)])
    assert told.exit_code == 3
    assert told.stdout.startswith("Error [CHECKPOINT_LOST] ")
    for line in (f"  Where: {place(layout, HOURLY)}", "  Fix: ", "  Type: penstock checkpoint show shop.hourly"):
        assert line in told.stdout
    document = runner.invoke(app, ["doctor", str(tmp_path), "--json"])
    assert document.exit_code == 3
    [finding] = json.loads(document.stdout)["findings"]
    assert (finding["condition"], finding["severity"], finding["since"]) == ("CHECKPOINT_LOST", "error", None)


@pytest.fixture
def exhausted(layout: StorageLayout, tmp_path: Path) -> Iterator[int]:
    """A process that holds the storage's lock, 190 of 200 file descriptors, and an output of 200 MB; gives its id."""
    program = (
        "import resource, socket, sys, time\n"
        "from penstock.storage import StorageLock\n"
        "with StorageLock(sys.argv[1]):\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
        "    held = []\n"
        "    while not held or held[-1].fileno() < 190:\n"
        "        held.append(socket.socket())\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
    )
    output = tmp_path / "run.log"
    output.touch()
    os.truncate(output, 200_000_000)  # takes no room on the disk
    with output.open("ab") as stderr:
        run = subprocess.Popen([sys.executable, "-c", program, layout.uri], stdout=subprocess.PIPE, stderr=stderr)
    assert run.stdout is not None
    with run.stdout:
        assert run.stdout.readline() == b"ready\n"
        yield run.pid
        run.kill()
        run.wait()


def test_a_run_that_is_about_to_fail_is_found_by_doctor_and_shown_by_status(
    layout: StorageLayout, exhausted: int, tmp_path: Path
) -> None:
    findings = [each for each in examine(layout.uri).findings if (each.condition or "").startswith("RUN_")]
    assert [(each.severity, each.condition) for each in findings] == [
        (Severity.WARNING, "RUN_DESCRIPTORS_LOW"),
        (Severity.WARNING, "RUN_LOG_LARGE"),
    ]
    descriptors, log = (error_of(each).facts for each in findings)
    assert (descriptors["pid"], descriptors["limit"]) == (str(exhausted), "200")
    assert 190 <= int(descriptors["open"]) <= 200
    assert (log["log"], log["size"]) == (str(tmp_path / "run.log"), "200 MB")
    (tmp_path / "penstock.yml").write_text(f"name: shop\nstorage: {layout.uri}\n")
    shown = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert "[RUN_DESCRIPTORS_LOW]" in shown.stdout, shown.output
    assert "[RUN_LOG_LARGE]" in shown.stdout
    assert "[RUN_LOG_LARGE]" in CliRunner().invoke(app, ["top", str(tmp_path), "--once"]).stdout
    problems = LiveLog(layout.uri).snapshot().problems
    assert {"RUN_DESCRIPTORS_LOW", "RUN_LOG_LARGE"} <= {each.condition for each in problems}
    document = json.loads(CliRunner().invoke(app, ["status", str(tmp_path), "--json"]).stdout)
    assert [each["condition"] for each in document["resources"]] == ["RUN_DESCRIPTORS_LOW", "RUN_LOG_LARGE"]


def test_only_a_run_of_this_machine_that_goes_on_is_inspected(layout: StorageLayout) -> None:
    with StorageLock(Storage(layout.uri)):
        holder = read_holder(Storage(layout.uri))
        assert holder is not None
        own, *_ = resources_of_run(holder)
    assert own.pid == os.getpid()
    assert own.descriptors > 3
    assert own.threads >= 1
    assert resources_of_run(None) == ()
    assert resources_of_run(replace(holder, machine="another")) == ()
    assert resources_of_run(replace(holder, birth="long ago")) == ()


def test_each_bound_of_a_run_is_judged_by_itself(facts: StorageFacts) -> None:
    sound = ProcessResources(7, "java", 819, 1024, 2000, (LogFile("out", 100_000_000),))
    assert findings_of(replace(facts, processes=(sound, replace(sound, descriptor_limit=None)))) == ()
    for wrong, condition in (
        (replace(sound, descriptors=820), "RUN_DESCRIPTORS_LOW"),
        (replace(sound, threads=2001), "RUN_THREADS_MANY"),
        (replace(sound, logs=(LogFile("out", 100_000_001),)), "RUN_LOG_LARGE"),
    ):
        assert only(replace(facts, processes=(wrong,))).condition == condition


def test_the_command_finds_a_jar_of_the_cache_that_has_changed(layout: StorageLayout, tmp_path: Path) -> None:
    core = jar_sets()["core"]
    altered = tmp_path / "cache" / "jars" / core.folder_name / core.jars[0].file_name
    altered.parent.mkdir(parents=True)
    altered.write_bytes(b"other code")
    (tmp_path / "penstock.yml").write_text(f"name: shop\nstorage: {layout.uri}\n")
    runner = CliRunner(env={**os.environ, "PENSTOCK_CACHE": str(tmp_path / "cache")})
    told = runner.invoke(app, ["doctor", str(tmp_path), "--json"])
    assert told.exit_code == 3
    [finding] = json.loads(told.stdout)["findings"]
    assert (finding["condition"], finding["severity"]) == ("JARS_ALTERED", "error")
    assert (finding["where"], finding["commands"]) == (str(altered), ["penstock setup"])
