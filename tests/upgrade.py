"""Storages that released versions have made, kept in `tests/fixtures/upgrade/<version>` for later ones to go on with.

`python -m tests.upgrade VERSION` makes the one of the present version, with the pipeline that lies in its folder: two
files arrive and are taken by a run each. It works in a folder whose name stands for no machine, and in the archive
that folder is written `@ROOT@`; unpacking puts the place there where it unpacks to. Hadoop's checksums of files that
name the folder are left out, since they fit no other.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

FOLDER: Final = Path(__file__).parent / "fixtures/upgrade"
_MADE_IN: Final = Path("/tmp/penstock-upgrade-fixture")
_ROOT: Final = b"@ROOT@"
_HOURS: Final = (8, 9, 12, 15)


def versions() -> list[str]:
    """Returns the versions whose storages are kept."""
    return sorted(each.name for each in FOLDER.iterdir())


def rows(file: int) -> list[dict[str, Any]]:
    """Returns the rows of a file that arrives: four ids of the one before come again, and one has no amount."""
    at = f"2026-01-01T{_HOURS[file]:02d}:30:00.000Z"
    return [
        {"id": 6 * file + each, "kind": "ab"[each % 2], "amount": None if each == 7 else 10 * file + each, "at": at}
        for each in range(10)
    ]


def expected(files: int) -> dict[str, list[Any]]:
    """Returns what the tables must hold after so many files; a window is written when the watermark has passed it."""
    good = [row for file in range(files) for row in rows(file) if row["amount"] is not None]
    kinds: Counter[str] = Counter()
    hours: Counter[int] = Counter()
    for row in good:
        kinds[row["kind"]] += row["amount"]
        hours[datetime.fromisoformat(row["at"]).hour] += 1
    newest = max(hours)  # the watermark is an hour behind it
    latest = {row["id"]: row["amount"] for row in good}
    return {
        "orders": sorted((row["id"], row["amount"]) for row in good),
        "orders__quarantine": sorted(6 * file + 7 for file in range(files)),
        "kinds": sorted(kinds.items()),
        "seen": sorted(latest),
        "hours": [count for hour, count in sorted(hours.items()) if hour + 1 < newest],
        "latest": sorted(latest.items()),
        "total": [sum(row["amount"] for row in good)],
    }


def found(project: PipelineProject) -> dict[str, list[Any]]:
    """Returns what the tables hold."""
    columns = {
        "orders": ("id", "amount"),
        "orders__quarantine": ("id",),
        "kinds": ("kind", "amount"),
        "seen": ("id",),
        "latest": ("id", "amount"),
        "total": ("amount",),
    }
    held = {table: project.rows(table, *names) for table, names in columns.items()}
    return {**held, "hours": [count for _, count in project.rows("hours", "start", "count")]}


def arrive(project: PipelineProject, file: int) -> None:
    """Lets one file arrive."""
    project.arrive(str(file), rows(file))


def make(spark: SparkSession, version: str) -> None:
    """Makes the storage of the present version and writes the archive beside its pipeline."""
    shutil.rmtree(_MADE_IN, ignore_errors=True)
    _MADE_IN.mkdir()
    project = PipelineProject(_MADE_IN, spark)
    shutil.copy(FOLDER / version / "pipeline.py", _MADE_IN)
    for file in range(2):
        arrive(project, file)
        assert project.run().errors == ()
    assert found(project) == expected(2)
    root = str(_MADE_IN).encode()
    with tarfile.open(FOLDER / version / "storage.tar.xz", "w:xz") as archive:
        for path in sorted(_MADE_IN.rglob("*")):
            name = path.relative_to(_MADE_IN)
            if not path.is_file() or name.parts[0] not in {".penstock", "in"}:
                continue
            content = path.read_bytes()
            checked = path.with_name(path.name.removeprefix(".").removesuffix(".crc"))
            if path.suffix == ".crc" and checked != path and checked.is_file() and root in checked.read_bytes():
                continue
            if _is_text(content):
                content = content.replace(root, _ROOT)
            entry = tarfile.TarInfo(str(name))
            entry.size, entry.mtime = len(content), int(path.stat().st_mtime)
            archive.addfile(entry, io.BytesIO(content))
    shutil.rmtree(_MADE_IN)


def unpack(version: str, project: PipelineProject) -> None:
    """Puts a version's storage, its input and its pipeline into a project's folder."""
    shutil.copy(FOLDER / version / "pipeline.py", project.directory)
    with tarfile.open(FOLDER / version / "storage.tar.xz") as archive:
        archive.extractall(project.directory, filter="data")
    for path in project.directory.rglob("*"):
        if path.is_file() and _ROOT in (content := path.read_bytes()):
            modified = path.stat().st_mtime_ns
            path.write_bytes(content.replace(_ROOT, str(project.directory).encode()))
            os.utime(path, ns=(modified, modified))


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


if __name__ == "__main__":
    from tests.spark.session_settings import CHOSEN

    from penstock.spark.session.launch import SessionConfig
    from penstock.spark.session.session import start_session, stop_session

    session = start_session(SessionConfig(name="upgrade", master="local[2]", spark_conf=CHOSEN))
    make(session, sys.argv[1])
    stop_session(session)
