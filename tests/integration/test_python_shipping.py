"""A session on a cluster: jars, settings and the user's Python modules reach the executors by themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.integration.spark_standalone import SparkStandalone

PROGRAM = """
import json, sys
from pathlib import Path
from pyspark.sql import functions as f
from penstock.spark.session import session as s
from penstock.spark.session.launch import SessionConfig

master, root, table = sys.argv[1:]
sys.path.insert(0, root)
conf = {"spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.cores.max": "2"}
config = SessionConfig(name="ship", master=master, spark_conf=conf, python_roots=[Path(root)], short_lived=True)
spark = s.start_session(config)
import pricing.rules

with_tax = f.udf(pricing.rules.with_tax, "double")
frame = spark.range(4, numPartitions=4).select(with_tax("id").alias("price"))
frame.write.format("delta").save(table)
prices = sorted(row.price for row in spark.read.format("delta").load(table).collect())
print(json.dumps({"prices": prices, "module": pricing.rules.__file__, "path": sys.path[0]}))
s.stop_session(spark)
"""


@pytest.mark.slow  # test_standalone_cluster.py computes a table with a module of the project
def test_modules_and_jars_reach_the_executors(cluster: SparkStandalone, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "pricing").mkdir(parents=True)
    (root / "pricing" / "__init__.py").write_text("")
    (root / "pricing" / "rules.py").write_text("def with_tax(price):\n    return price * 2.0\n")
    before = cluster.executors_started()
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), cluster.url, str(root), str(tmp_path / "table")],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "PENSTOCK_CLASS_ARCHIVE": "off"},
    )
    assert answer.returncode == 0, answer.stderr
    assert cluster.executors_started() - before == 2
    told = json.loads(answer.stdout)
    assert told["prices"] == [0.0, 2.0, 4.0, 6.0]
    # The driver imports the user's own file, which is what errors should name.
    assert told["module"] == str(root / "pricing" / "rules.py")
    assert told["path"] == str(root)
