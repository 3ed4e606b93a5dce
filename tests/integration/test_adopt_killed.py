"""Plain Spark queries that are killed at bad moments, taken over, and run to the end: no row is lost or doubled."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.cli_runner import penstock
from tests.integration.kafka_broker import KafkaBroker
from tests.integration.plain_spark import plain_spark
from tests.oracle.tables import read_table
from tests.processes import family, wait_until

pytestmark = [pytest.mark.usefixtures("one_process"), pytest.mark.timeout(900)]

SOURCES = ("files", "copy", "topic")
MOMENTS = ("planned", "written", "committed")
"""Nothing is written of the batch; a part of its data files; the table has it, and the checkpoint not yet."""

# Batch 1 of a query sleeps in its tasks: in all of them, or in one of two. The last query does not, and is killed as
# soon as its table has the batch; Delta then still writes a checkpoint of the log before Spark commits the batch.
_SCRIPT = """
import time
from pathlib import Path

broker, topic_name, at, *moments = arguments
spark = (
    builder.master("local[8]")
    .config("spark.sql.files.maxPartitionBytes", 65536)
    .config("spark.sql.files.openCostInBytes", 65536)
    .config("spark.databricks.delta.properties.defaults.checkpointInterval", 1)
    .getOrCreate()
)


def files():
    read = spark.readStream.schema("id LONG, amount DOUBLE").option("maxFilesPerTrigger", 2).json(f"{at}/in")
    return read, {"planned": "id >= 20", "written": "id >= 30"}


def copy():
    read = spark.readStream.format("delta").option("maxFilesPerTrigger", 2).load(f"{at}/source")
    return read, {"planned": "id >= 20", "written": "id >= 30"}


def topic():
    read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", topic_name)
    read = read.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 20).load()
    read = read.selectExpr("CAST(CAST(value AS STRING) AS LONG) AS id", "partition", "offset")
    return read, {"planned": "offset >= 10", "written": "offset >= 10 AND partition = 1"}


SLEEPS = "java_method('java.lang.Thread', 'sleep', 300000L)"
for name, moment in sorted(zip(("files", "copy", "topic"), moments), key=lambda each: each[1] == "committed"):
    read, holding = globals()[name]()
    if moment in holding:
        read = read.selectExpr("*", f"IF({holding[moment]}, {SLEEPS}, NULL) AS slept").where("slept IS NULL")
        read = read.drop("slept")
    else:
        while not Path(f"{at}/held").exists():
            time.sleep(0.05)
    place = f"{at}/{name}_{moment}"
    stream = read.writeStream.format("delta").option("checkpointLocation", f"{at}/checkpoints/{name}_{moment}")
    query = stream.trigger(availableNow=True).start(place)
query.awaitTermination()
"""
_PIPELINE = """
import dlt

at = spark.conf.get("at")


def files(at):
    return spark.readStream.schema("id LONG, amount DOUBLE").json(f"{at}/in")


def copy(at):
    return spark.readStream.format("delta").load(f"{at}/source")


def topic(at):
    read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", spark.conf.get("broker"))
    read = read.option("subscribe", spark.conf.get("topic")).option("startingOffsets", "earliest").load()
    return read.selectExpr("CAST(CAST(value AS STRING) AS LONG) AS id", "partition", "offset")


for name in spark.conf.get("names").split():
    source = globals()[name.partition("_")[0]]
    dlt.table(name=name, path=f"{at}/{name}")(lambda source=source: source(at))
"""


def _arrive(at: Path, kafka: KafkaBroker, topic: str, *firsts: int) -> None:
    for first in firsts:
        ids = range(first, first + 10)
        (at / "in" / f"{first}.json").write_text("".join(f'{{"id": {each}, "amount": {each}.5}}\n' for each in ids))
        write_deltalake(at / "source", pa.table({"id": ids, "amount": [each + 0.5 for each in ids]}), mode="append")
        for each in ids:
            kafka.produce(topic, [str(each)], partition=each % 2)


def _has(place: Path, version: int) -> bool:
    return (place / f"_delta_log/{version:020d}.json").exists()


def _loose_files(place: Path) -> int:
    """How many data files with rows the log of the table does not know."""
    known = {Path(file).name for file in DeltaTable(str(place)).file_uris()}
    return sum(file.name not in known and file.stat().st_size > 0 for file in place.glob("*.parquet"))


def _is_held(at: Path, name: str, moment: str) -> bool:
    place, planned = at / f"{name}_{moment}", at / f"checkpoints/{name}_{moment}/offsets/1"
    return planned.exists() and _has(place, 0) and (moment == "planned" or _loose_files(place) > 0)


def _kill_held(at: Path, broker: str, topic: str, moments: dict[str, str], log: Path) -> None:
    """Runs the script until each of its queries is at its moment, and kills it."""
    (at / "held").unlink(missing_ok=True)
    waits = {name: moment for name, moment in moments.items() if moment != "committed"}
    [last] = moments.keys() - waits.keys()

    def reached(ready: Callable[[], bool]) -> Callable[[], bool]:
        return lambda: process.poll() is not None or ready()

    with log.open("w") as output:
        command = plain_spark(_SCRIPT, broker, topic, str(at), *moments.values())
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        held = reached(lambda: all(_is_held(at, name, moment) for name, moment in waits.items()))
        wait_until(held, timeout=100, what="queries that sleep in batch 1")
        (at / "held").touch()
        place = at / f"{last}_committed"
        wait_until(reached(lambda: _has(place, 1)), timeout=60, what="batch 1 in the table", interval=0.0005)
        assert process.poll() is None, log.read_text()[-3000:]
    finally:
        for member in family(process.pid):
            with suppress(psutil.NoSuchProcess):
                member.send_signal(signal.SIGKILL)
        process.wait(30)


@pytest.mark.parametrize("turns", [1, pytest.param(3, marks=pytest.mark.slow)], ids=["once", "all"])
def test_killed_queries_go_on_with_the_next_row(turns: int, tmp_path: Path, kafka: KafkaBroker) -> None:
    """Each source at one of the moments, or, with as many processes, at each of them."""
    at, made = tmp_path / "at", tmp_path / "project"
    (at / "in").mkdir(parents=True)
    topic = f"killed-{turns}"
    kafka.create_topic(topic, partitions=2)
    _arrive(at, kafka, topic, 0, 10, 20, 30)
    names: list[str] = []
    for turn in range(turns):
        moments = {source: MOMENTS[(turn + number) % 3] for number, source in enumerate(SOURCES)}
        _kill_held(at, kafka.address, topic, moments, tmp_path / f"script-{turn}.log")
        names += [f"{source}_{moment}" for source, moment in moments.items()]
    for name in names:
        place, checkpoint = at / name, at / "checkpoints" / name
        assert (checkpoint / "commits/0").exists(), name
        assert (checkpoint / "offsets/1").exists(), name
        assert not (checkpoint / "commits/1").exists(), name
        assert _has(place, 1) == name.endswith("committed"), name
        assert (_loose_files(place) > 0) or not name.endswith("written"), name

    made.mkdir()
    settings = {"at": str(at), "broker": kafka.address, "topic": topic, "names": " ".join(names)}
    (made / "penstock.yml").write_text(f"name: shop\nschema: shop\nconfiguration: {json.dumps(settings)}\n")
    (made / "pipeline.py").write_text(_PIPELINE)
    for name in names:
        found = penstock("adopt", name, made, "--checkpoint", at / "checkpoints" / name, "--yes", "--json")
        assert (found.expect(0).document["last_batch"], found.document["in_flight"]) == (0, 1), name
    _arrive(at, kafka, topic, 40)
    penstock("run", made, "--json").expect(0)
    uninterrupted = Counter(range(50))
    for name in names:
        assert Counter(row["id"] for row in read_table(at / name)) == uninterrupted, name
    compare = ("compare", names[0], str(at / "source"), made, "--key", "id", "--json")
    assert penstock(*compare).expect(0).document["rows"] == {"equal": 50, "only_in_table": 0, "only_in_other": 0}
    write_deltalake(at / "source", pa.table({"id": [49], "amount": [49.5]}), mode="append")
    assert penstock(*compare).expect(1).document["rows"] == {"equal": 50, "only_in_table": 0, "only_in_other": 1}
