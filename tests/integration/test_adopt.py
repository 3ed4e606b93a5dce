"""Plain Spark scripts that are stopped in the middle, taken over, and compared with ones that were not stopped."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import Outcome, penstock
from tests.integration.kafka_broker import KafkaBroker
from tests.integration.plain_spark import plain_spark
from tests.oracle.tables import read_table

from penstock.storage.delta.table import open_delta_table

pytestmark = [pytest.mark.usefixtures("one_process"), pytest.mark.timeout(900)]

_SCRIPT = """
where, broker = arguments
spark = builder.getOrCreate()


def write(frame, name):
    stream = frame.writeStream.format("delta").option("checkpointLocation", f"{where}/checkpoints/{name}")
    stream.trigger(availableNow=True).start(f"{where}/tables/{name}").awaitTermination()


files = spark.readStream.schema("id LONG, amount DOUBLE").option("maxFilesPerTrigger", 1).json(f"{where}/in")
write(files, "files")
write(spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(f"{where}/tables/files"), "copy")
topic = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", "adopted")
topic = topic.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 15).load()
write(topic.selectExpr("CAST(value AS STRING) AS text", "offset"), "topic")
write(files.dropDuplicates(["id"]), "distinct")
"""
_PIPELINE = """
import dlt

at = spark.conf.get("at")


def adopted(name):
    return dlt.table(name=name, path=f"{at}/tables/{name}")


@adopted("files")
def files():
    read = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
    return read.schema("id LONG, amount DOUBLE").load(f"{at}/in")


@adopted("half")
def half():
    return spark.readStream.schema("id LONG, amount DOUBLE").json(f"{at}/in")


@adopted("planned")
def planned():
    return spark.readStream.schema("id LONG, amount DOUBLE").json(f"{at}/in")


@adopted("copy")
def copy():
    return spark.readStream.format("delta").load(f"{at}/tables/source")


@adopted("topic")
def topic():
    read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", spark.conf.get("broker"))
    read = read.option("subscribe", "adopted").option("startingOffsets", "earliest").load()
    return read.selectExpr("CAST(value AS STRING) AS text", "offset")


@adopted("distinct")
def distinct():
    return spark.readStream.schema("id LONG, amount DOUBLE").json(f"{at}/in").dropDuplicates(["id"])
"""


def arrive(where: Path, *ids: int) -> None:
    (where / "in").mkdir(exist_ok=True)
    (where / "in" / f"{ids[0]}.json").write_text("".join(f'{{"id": {each}, "amount": {each}.5}}\n' for each in ids))


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaBroker) -> Path:
    """What one plain Spark process has left: tables and checkpoints of four queries, each of some batches."""
    where = tmp_path_factory.mktemp("scripted")
    for first in (1, 11):
        arrive(where, *range(first, first + 10))
    kafka.create_topic("adopted", partitions=2)
    kafka.produce("adopted", [f"text {number}" for number in range(30)])
    command = plain_spark(_SCRIPT, str(where), kafka.address)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    return where


@pytest.fixture
def left(scripted: Path, tmp_path: Path) -> Iterator[Path]:
    """The same, put back where it was after each test, because checkpoints and tables name their places."""
    shutil.copytree(scripted, tmp_path / "before", dirs_exist_ok=True)
    yield scripted
    shutil.rmtree(scripted)
    shutil.copytree(tmp_path / "before", scripted)


def project(where: Path, made: Path, broker: str, *names: str) -> Path:
    """A pipeline with some of the tables of `_PIPELINE`."""
    made.mkdir()
    settings = {"at": str(where), "broker": broker}
    head, *tables = _PIPELINE.split("\n\n\n@")
    chosen = [table for table in tables if table.startswith(tuple(f'adopted("{name}")' for name in names))]
    (made / "penstock.yml").write_text(f"name: shop\nschema: shop\nconfiguration: {json.dumps(settings)}\n")
    (made / "pipeline.py").write_text("\n\n\n@".join([head, *chosen]))
    return made


def adopt(where: Path, made: Path, name: str, *flags: str) -> Outcome:
    return penstock("adopt", name, made, "--checkpoint", where / "checkpoints" / name, "--json", *flags)


def rows(where: Path, name: str, column: str) -> Counter[object]:
    return Counter(row[column] for row in read_table(where / "tables" / name))


def test_the_next_row_is_exactly_the_next_one(left: Path, tmp_path: Path, kafka: KafkaBroker) -> None:
    tables, checkpoints = left / "tables", left / "checkpoints"
    # A process that died after the table's commit, and one that died before it.
    for name in ("half", "planned"):
        shutil.copytree(tables / "files", tables / name)
        shutil.copytree(checkpoints / "files", checkpoints / name)
        (checkpoints / name / "commits/1").unlink()
        (checkpoints / name / "commits/.1.crc").unlink(missing_ok=True)
    for file in (tables / "planned/_delta_log").glob("*0001.*"):
        file.unlink()
    (tables / "files").rename(tables / "source")
    shutil.copytree(tables / "source", tables / "files")
    whole = project(left, tmp_path / "whole", kafka.address, "files", "copy", "topic", "distinct")
    # Copies of a query have its id, so that they are in pipelines of their own.
    half = project(left, tmp_path / "half", kafka.address, "half")
    planned = project(left, tmp_path / "planned", kafka.address, "planned")
    where = {"files": whole, "copy": whole, "topic": whole, "distinct": whole, "half": half, "planned": planned}

    found = {}
    for name, made in where.items():
        seen = adopt(left, made, name, "--dry-run").expect(0).document
        assert not (made / f".penstock/checkpoints/shop/{name}").exists()
        found[name] = adopt(left, made, name, "--yes").expect(0).document
        assert found[name] == {**seen, "adopted": True}
    kinds = {name: (each["sources"][0]["kind"], each["in_flight"]) for name, each in found.items()}
    assert kinds == {
        "files": ("FILES", None),
        "copy": ("DELTA", None),
        "topic": ("KAFKA", None),
        "distinct": ("FILES", None),
        "half": ("FILES", 1),
        "planned": ("FILES", 1),
    }
    adopt(left, whole, "files", "--yes").expect(3).error("ADOPT_TARGET_TAKEN")
    assert {name for name, each in found.items() if each["state"]} == {"distinct"}

    arrive(left, *range(21, 31))
    kafka.produce("adopted", [f"text {number}" for number in range(30, 40)])
    for made in (whole, half, planned):
        penstock("run", made, "--json").expect(0)
    for name in ("files", "half", "planned", "distinct"):
        assert rows(left, name, "id") == Counter(range(1, 31)), name
    assert rows(left, "copy", "id") == Counter(range(1, 21)), "what its source holds"
    assert rows(left, "topic", "text") == Counter(f"text {number}" for number in range(40))
    actions = penstock("audit", whole, "--json").expect(0).document["actions"]
    assert [each["action"] for each in actions].count("ADOPT") == 4
    for name in ("files", "topic"):
        query = json.loads((checkpoints / name / "metadata").read_text())["id"]
        assert open_delta_table(str(tables / name)).transaction_version(query) == found[name]["last_batch"] + 1
