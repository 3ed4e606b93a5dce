"""The four systems that are compared: how each is started, and where it leaves its tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.commands import with_spark
from benchmarks.orders import hand_written
from benchmarks.orders.check import Tables
from benchmarks.orders.tuned_settings import tuned_settings
from benchmarks.session import plain_session
from penstock.spark.session.setup.jars import ensure_jars

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SDP_ENVIRONMENT = ROOT / ".bench" / "sdp"

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@dataclass(frozen=True, slots=True)
class Program:
    """One system made ready for one run in `folder`: what to start there, and what it will have made."""

    command: Sequence[str]
    folder: Path
    tables: Tables
    environ: Mapping[str, str] = field(default_factory=dict)
    here: Callable[[], object] | None = None
    """Does the same on the shared session, if the system can."""


Preparation = Callable[[Path, Path], Program]
"""Takes the folder of the input and an empty folder for the run; its own time is not measured."""


def default_settings(source: Path, folder: Path) -> Program:
    """Hand-written PySpark as it comes: only what Delta needs is set."""
    return _hand_written(source, folder, {})


def tuned(source: Path, folder: Path) -> Program:
    """The same hand-written program with tuned settings."""
    return _hand_written(source, folder, tuned_settings(ensure_jars("core")))


def spark_pipelines(source: Path, folder: Path) -> Program:
    """`spark-pipelines run` of PySpark 4.2, in an environment of its own."""
    python = _sdp_python()
    shutil.copytree(HERE / "pipeline_sdp" / "transformations", folder / "transformations")
    specification = {
        "name": "orders_benchmark",
        "storage": (folder / "storage").as_uri(),
        "configuration": {"source": str(source)},
        "libraries": [{"glob": {"include": "transformations/**"}}],
    }
    (folder / "spark-pipeline.yml").write_text(json.dumps(specification))  # JSON is YAML
    warehouse = folder / "warehouse"
    # `--conf spark.jars=…` comes too late: the Connect server loads Spark's extensions before it sees those jars.
    settings = {
        **_DELTA,
        "spark.driver.extraClassPath": ":".join(map(str, ensure_jars("core"))),
        "spark.sql.warehouse.dir": warehouse.as_uri(),
    }
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    home = subprocess.run(
        [python, "-c", "import os, pyspark; print(os.path.dirname(pyspark.__file__))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return Program(
        [f"{home}/bin/spark-pipelines", "run"],
        folder,
        Tables(warehouse / "bronze", warehouse / "silver", warehouse / "gold", all_windows=True),
        {
            "SPARK_HOME": home,
            "SPARK_CONF_DIR": str(folder),
            "PYSPARK_PYTHON": python,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
    )


def penstock(source: Path, folder: Path) -> Program:
    """`penstock run` with Penstock's defaults."""
    shutil.copytree(HERE / "pipeline_penstock", folder, dirs_exist_ok=True)
    tables = folder / ".penstock" / "tables" / "bench"
    return Program(
        [sys.executable, "-m", "penstock.cli", "run", "--json", "--set", f"source={source}"],
        folder,
        Tables(tables / "bronze", tables / "silver", tables / "gold", all_windows=False),
        here=lambda: with_spark("run", folder, {"source": str(source)}),
    )


SYSTEMS: Mapping[str, Preparation] = {
    "hand-written-default": default_settings,
    "hand-written-tuned": tuned,
    "spark-pipelines": spark_pipelines,
    "penstock": penstock,
}


def _hand_written(source: Path, folder: Path, settings: Mapping[str, str]) -> Program:
    output = folder / "output"
    everything = {**_DELTA, "spark.jars": ",".join(map(str, ensure_jars("core"))), **settings}
    return Program(
        [sys.executable, "-m", "benchmarks.orders.hand_written", str(source), str(output), json.dumps(everything)],
        folder,
        Tables(output / "bronze", output / "silver", output / "gold", all_windows=False),
        {"PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
        here=lambda: hand_written.run(plain_session(), str(source), str(output)),
    )


def _sdp_python() -> str:
    python = SDP_ENVIRONMENT / "bin" / "python"
    ready = SDP_ENVIRONMENT / ".ready"
    wanted = HERE / "pipeline_sdp" / "requirements.txt"
    if not ready.exists() or ready.read_text() != wanted.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(SDP_ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(wanted)], check=True)
        ready.write_text(wanted.read_text())
    return os.fspath(python)
