"""What the profile says of threads and stacks."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from xml.etree import ElementTree

import pytest
from benchmarks.profile.flames import draw
from benchmarks.profile.layers import by_layer, layer_of
from benchmarks.profile.threads import PYTHON, ThreadTimes

RUN = "java.lang.Thread.run"
BATCH = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution.runBatch"
COMMIT = "org.apache.spark.sql.delta.OptimisticTransaction.commit"
ANALYSER = "org.apache.spark.sql.catalyst.analysis.Analyzer.execute"
DATES = "org.apache.spark.sql.catalyst.util.DateTimeUtils.stringToTimestamp"
JSON = "org.apache.spark.sql.catalyst.json.JacksonParser.parse"


@pytest.mark.parametrize(
    ("stack", "layer"),
    [
        ((RUN, BATCH, COMMIT, "scala.collection.immutable.List.map"), "Delta"),
        ((RUN, BATCH, COMMIT, ANALYSER), "planning"),
        ((RUN, JSON, DATES), "rows: JSON"),
        ((RUN, BATCH, DATES), "Spark, the rest"),
        ((RUN, "com.example.Theirs.run"), "other"),
        (("JIT compiler C2",), "JIT compiler C2"),
    ],
)
def test_the_innermost_method_that_says_it_decides(stack: tuple[str, ...], layer: str) -> None:
    assert layer_of(stack) == layer


def test_a_flame_graph_is_as_wide_as_the_samples_and_escapes_names() -> None:
    stacks = Counter({(RUN, BATCH, COMMIT): 60, (RUN, BATCH, "a.B.<init>"): 30, ("JIT compiler C2",): 10})
    assert by_layer(stacks) == {"Delta": 60, "Spark, the rest": 30, "JIT compiler C2": 10}
    drawing = ElementTree.fromstring(draw(stacks, "a & b"))
    boxes = {
        (title.text or ""): float(group[1].get("width", 0))
        for group in drawing.iter("{http://www.w3.org/2000/svg}g")
        for title in group.findall("{http://www.w3.org/2000/svg}title")
    }
    assert boxes == {
        f"{BATCH} 90.0%": 1080,
        f"{COMMIT} 60.0%": 720,
        "a.B.<init> 30.0%": 360,
        "JIT compiler C2 10.0%": 120,
    }


def test_processor_time_of_children_is_seen_while_they_run() -> None:
    with ThreadTimes() as times:
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        until = time.monotonic() + 30
        while times.by_kind().get(PYTHON, 0.0) < 0.3 and time.monotonic() < until:
            time.sleep(0.05)
        busy.kill()
        busy.wait()
    assert times.by_kind()[PYTHON] >= 0.3
