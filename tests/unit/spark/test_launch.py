"""The JVM's launch is of use only while it does not load what Python would load meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.spark.accelerators.own_classes import JAR
from penstock.spark.session import driver_process, launch
from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.setup.java import Java, JavaOrigin
from penstock.spark.session.setup.known_jars import spark_class_path


def test_the_log_of_a_process_that_lives_is_not_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine = [tmp_path / f"spark-2026010{day}T000000-{os.getpid()}.log{part}" for day in (1, 2) for part in ("", ".1")]
    others = [tmp_path / f"spark-20260201T0000{number:02}-{ended.pid}.log" for number in range(25)]
    for log in (*mine, *others):
        log.touch()
    driver_process._new_log(tmp_path)
    assert sorted(tmp_path.iterdir()) == [*mine, *others[-20:]]


def test_the_launch_loads_no_pyspark() -> None:
    program = "import sys, penstock.cli.main, penstock.spark.session.launch; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pyspark", "py4j", "pyarrow", "deltalake", "sqlglot"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("config", "own", "shipped"),
    [
        (SessionConfig("local", "local[2]"), [JAR], False),
        (SessionConfig("cluster", "spark://spark.test:7077"), [JAR], True),
        (SessionConfig("training", "local[2]", class_archive_to_record=Path("x.jsa")), [], False),
    ],
)
def test_penstocks_own_jar_comes_last_and_not_into_a_class_archive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: SessionConfig, own: list[Path], shipped: bool
) -> None:
    # Java takes an archive only if the class path begins with the one that it was made with.
    class_paths, executors = [], []

    def start_driver(_java: Java, conf: dict[str, str], class_path: list[Path], **_: Any) -> None:
        class_paths.append(class_path)
        executors.append(conf.get("spark.jars"))

    monkeypatch.setattr(launch, "start_driver", start_driver)
    monkeypatch.setattr(launch, "java_home_for_spark", lambda *_: tmp_path)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    jars = [tmp_path / "delta.jar"]
    launch._start_jvm(config, Java(Path("java"), "17", JavaOrigin.PATH), jars, tmp_path, ())
    assert class_paths == [[*spark_class_path(jars), *own]]
    assert executors == [f"{jars[0].as_uri()},{JAR.as_uri()}" if shipped else None]


def test_further_jars_follow_those_that_a_class_archive_is_made_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetched = {"core": [tmp_path / "delta.jar"], "s3": [tmp_path / "hadoop-aws.jar"]}
    archives: list[list[Path]] = []
    started: list[list[Path]] = []

    def archive_path(_java: Java, jars: list[Path]) -> Path:
        archives.append(list(jars))
        return tmp_path / "x.jsa"

    java = Java(Path("java"), "17", JavaOrigin.PATH)
    monkeypatch.setattr(launch, "find_java", lambda: java)
    monkeypatch.setattr(launch, "ensure_jars", lambda name, **_: list(fetched[name]))
    monkeypatch.setattr(launch, "archive_path", archive_path)
    monkeypatch.setattr(launch, "_start_jvm", lambda _config, _java, jars, *_: started.append(jars))
    launch.launch(SessionConfig("lake", jar_sets=("s3",)), progress=lambda _line: None)
    assert archives == [spark_class_path(fetched["core"])]
    assert started == [fetched["core"] + fetched["s3"]]
