"""The JVM's launch is of use only while it does not load what Python would load meanwhile."""

from __future__ import annotations

import subprocess
import sys


def test_the_launch_loads_no_pyspark() -> None:
    program = "import sys, penstock.cli.main, penstock.spark.launch; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pyspark", "py4j", "pyarrow", "deltalake", "sqlglot"} & set(done.stdout.split())
