"""The JVM's launch is of use only while it does not load what Python would load meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.spark import launch
from penstock.spark.launch import SessionConfig
from penstock.spark.setup.class_path import spark_class_path
from penstock.spark.setup.java import Java, JavaOrigin
from penstock.spark.setup.own_classes import JAR


def test_the_launch_loads_no_pyspark() -> None:
    program = "import sys, penstock.cli.main, penstock.spark.launch; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pyspark", "py4j", "pyarrow", "deltalake", "sqlglot"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("config", "own"),
    [
        (SessionConfig("local", "local[2]"), [JAR]),
        (SessionConfig("cluster", "spark://spark.test:7077"), [JAR]),
        (SessionConfig("training", "local[2]", class_archive_to_record=Path("x.jsa")), []),
    ],
)
def test_penstocks_own_jar_comes_last_and_not_into_a_class_archive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: SessionConfig, own: list[Path]
) -> None:
    # Java takes an archive only if the class path begins with the one that it was made with.
    class_paths = []

    def start_driver(_java: Java, _conf: dict[str, str], class_path: list[Path], **_: Any) -> None:
        class_paths.append(class_path)

    monkeypatch.setattr(launch, "start_driver", start_driver)
    monkeypatch.setattr(launch, "java_home_for_spark", lambda *_: tmp_path)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    jars = [tmp_path / "delta.jar"]
    launch._start_jvm(config, Java(Path("java"), "17", JavaOrigin.PATH), jars, tmp_path, ())
    assert class_paths == [[*spark_class_path(jars), *own]]
