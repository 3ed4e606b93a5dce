"""What `penstock adopt` finds in checkpoints of plain Spark, and refuses; files as Spark 4.2 writes them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from pyspark.sql import SparkSession

from penstock.config import load_project
from penstock.errors import PenstockError
from penstock.runtime.commands.adopt import Adopter
from penstock.runtime.project.workspace import say_nothing
from penstock.storage.checkpoint.folder import CheckpointFolder

QUERY = "7ed29004-a926-40b6-8832-4aab8179821f"
_PIPELINE = """
from pyspark import pipelines as dp

at = spark.conf.get("at")
schema = "id LONG"


@dp.table(path=f"{at}/orders")
def orders():
    return spark.readStream.schema(schema).json(f"{at}/in")


@dp.table(path=f"{at}/both")
def both():
    first = spark.readStream.schema(schema).json(f"{at}/in/b*")
    return first.union(spark.readStream.schema(schema).json(f"{at}/other"))


@dp.table(path=f"{at}/counts")
def counts():
    return spark.readStream.schema(schema).json(f"{at}/in").groupBy("id").count()


@dp.materialized_view(path=f"{at}/view")
def view():
    return spark.range(3)
"""


class Left:
    """What a query of files has left behind in `at`: a table, and a checkpoint with two batches."""

    def __init__(self, at: Path) -> None:
        self.at, self.checkpoint = at, at / "checkpoint"
        self.write("metadata", json.dumps({"id": QUERY}))
        for batch in (0, 1):
            self.plan(batch, json.dumps({"logOffset": batch}))
            self.write(f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')
            self.log_file(0, batch, at / "in" / f"{batch}.json")
        self.store("orders", 1)

    def write(self, name: str, text: str) -> None:
        file = self.checkpoint / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def plan(self, batch: int, *offsets: str, version: str = "v1") -> None:
        conf = {
            "spark.sql.shuffle.partitions": "200",
            "spark.sql.streaming.queryEvolution.enableSourceEvolution": "false",
        }
        metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1000 + batch, "conf": conf})
        self.write(f"offsets/{batch}", "\n".join([version, metadata, *offsets]))

    def log_file(self, source: int, step: int, file: Path) -> None:
        entry = {"path": f"file://{file}", "timestamp": 1, "batchId": step}
        self.write(f"sources/{source}/{step}", f"v1\n{json.dumps(entry)}")

    def store(self, table: str, batch: int | None, kind: pa.DataType | None = None) -> None:
        rows = pa.table({"id": pa.array([1, 2]).cast(kind or pa.int64())})
        done = [] if batch is None else [Transaction(QUERY, batch)]
        write_deltalake(
            self.at / table, rows, mode="overwrite", schema_mode="overwrite",
            commit_properties=CommitProperties(app_transactions=done),
        )  # fmt: skip

    def store_anew(self, table: str) -> None:
        shutil.rmtree(self.at / table)
        self.store(table, None)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("adopt")
    (root / "left/in/b1").mkdir(parents=True)
    (root / "left/other").mkdir()
    return root


@pytest.fixture(scope="module")
def adopter(spark: SparkSession, root: Path) -> Adopter:
    project = root / "project"
    project.mkdir()
    (project / "penstock.yml").write_text(f"name: shop\nschema: shop\nconfiguration: {{at: '{root}/left'}}\n")
    (project / "pipeline.py").write_text(_PIPELINE)
    return Adopter(load_project(project), say_nothing, spark=spark)


@pytest.fixture
def left(root: Path) -> Left:
    shutil.rmtree(root / "project/.penstock", ignore_errors=True)
    for name in ("checkpoint", "orders", "both", "counts"):
        shutil.rmtree(root / "left" / name, ignore_errors=True)
    return Left(root / "left")


def test_a_checkpoint_gets_the_names_of_the_reads(adopter: Adopter, left: Left) -> None:
    planned = adopter.plan("orders", str(left.checkpoint))
    assert (planned.batch, planned.in_flight, planned.version) == (1, None, 0)
    Path(f"{planned.place}.restoring-20260101T000000000000Z").mkdir(parents=True)  # of a process that was killed
    adopter.adopt(planned)
    made = CheckpointFolder.open(planned.place)
    [(source, name)] = planned.sources
    assert (source.name, made.query_id(), made.committed) == ("0", QUERY, 1)
    batch = made.planned_batch(1)
    assert (batch.version, batch.offsets) == ("v2", {name: {"logOffset": 1}})
    assert batch.settings == {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    assert set(made.below(f"sources/{name}")) == {"0", "1"}
    assert [each.name for each in Path(planned.place).parent.iterdir()] == ["0"]


def test_two_sources_are_told_apart_by_their_folders(adopter: Adopter, left: Left) -> None:
    left.store("both", 1)
    for batch in (0, 1):
        left.plan(batch, '{"logOffset":1}', "-" if batch == 0 else '{"logOffset":0}')
    left.log_file(0, 0, left.at / "other" / "x.json")
    left.log_file(0, 1, left.at / "other" / "deep" / "y.json")
    left.log_file(1, 0, left.at / "in" / "b1" / "z.json")
    planned = adopter.plan("both", str(left.checkpoint))
    assert {source.name: name for source, name in planned.sources} == {"0": "json_other", "1": "json_b"}
    adopter.adopt(planned)
    made = CheckpointFolder.open(planned.place)
    assert made.planned_batch(0).offsets == {"json_other": {"logOffset": 1}}
    assert set(made.below("sources/json_b")) == {"0"}


def _operation(left: Left, operation: str, **parameters: object) -> None:
    """A commit behind the query's, as Delta notes it."""
    info = {"timestamp": 1, "operation": operation, "operationParameters": parameters}
    (left.at / "orders/_delta_log/00000000000000000001.json").write_text(json.dumps({"commitInfo": info}) + "\n")


def test_a_deep_clone_is_known_by_its_source(adopter: Adopter, left: Left) -> None:
    (left.at / "orders").rename(left.at / "original")
    left.store("orders", None)
    _operation(left, "CLONE", source=f"delta.`file:{left.at}/original`", sourceVersion=0, isShallow=False)
    planned = adopter.plan("orders", str(left.checkpoint))
    assert (planned.batch, planned.version, planned.elsewhere) == (1, 1, ())
    shutil.rmtree(left.at / "original")
    with pytest.raises(PenstockError, match="not to be found"):
        adopter.plan("orders", str(left.checkpoint))


def _remove(left: Left, *names: str) -> None:
    for name in names:
        (left.checkpoint / name).unlink()


Change = Callable[[Left], object]
REFUSED: dict[str, tuple[Change, str, str]] = {
    "no such dataset": (lambda _: None, "ordres", "ADOPT_DATASET_UNKNOWN"),
    "a view of a batch": (lambda _: None, "view", "ADOPT_DATASET_UNKNOWN"),
    "no table": (lambda _: None, "both", "ADOPT_TABLE_NOT_FOUND"),
    "no query id": (lambda left: _remove(left, "metadata"), "orders", "ADOPT_CHECKPOINT_NOT_FOUND"),
    "no batch": (lambda left: _remove(left, "offsets/0", "offsets/1"), "orders", "ADOPT_CHECKPOINT_NOT_FOUND"),
    "another Spark": (
        lambda left: left.plan(1, '{"logOffset":1}', version="v9"),
        "orders",
        "ADOPT_CHECKPOINT_UNREADABLE",
    ),
    "half a file": (lambda left: left.write("offsets/1", "v1\n{"), "orders", "ADOPT_CHECKPOINT_UNREADABLE"),
    "a source of rates": (lambda left: left.plan(1, "17"), "orders", "ADOPT_CHECKPOINT_UNREADABLE"),
    "Databricks' Auto Loader": (
        lambda left: left.plan(1, '{"seqNum":7,"sourceVersion":1}'),
        "orders",
        "ADOPT_CHECKPOINT_UNREADABLE",
    ),
    "a source without an offset": (
        lambda left: left.plan(1, '{"logOffset":1}', "-"),
        "orders",
        "ADOPT_CHECKPOINT_UNREADABLE",
    ),
    "no log of files": (lambda left: _remove(left, "sources/0/1"), "orders", "ADOPT_CHECKPOINT_UNREADABLE"),
    "a damaged log of files": (
        lambda left: left.write("sources/0/0", "v1\n{"),
        "orders",
        "ADOPT_CHECKPOINT_UNREADABLE",
    ),
    "files of another folder": (
        lambda left: left.log_file(0, 1, left.at / "inbox" / "1.json"),
        "orders",
        "ADOPT_NOT_EXACT",
    ),
    "topics": (lambda left: left.plan(1, '{"orders":{"0":7}}'), "orders", "ADOPT_NOT_EXACT"),
    "a table of Delta": (
        lambda left: left.plan(1, '{"sourceVersion":1,"reservoirId":"x","reservoirVersion":3,"index":-1}'),
        "orders",
        "ADOPT_NOT_EXACT",
    ),
    "state": (lambda left: left.write("state/0/0/1.delta", "x"), "orders", "ADOPT_NOT_EXACT"),
    "a flow with state": (lambda left: left.store("counts", 1), "counts", "ADOPT_NOT_EXACT"),
    "foreachBatch": (lambda left: left.store_anew("orders"), "orders", "ADOPT_NOT_EXACT"),
    "a table that was taken back": (
        lambda left: _operation(left, "RESTORE", version="0"),
        "orders",
        "ADOPT_NOT_EXACT",
    ),
    "a table that another one was cloned over": (
        lambda left: _operation(left, "CLONE", source="spark_catalog.shop.orders", sourceVersion=7),
        "orders",
        "ADOPT_NOT_EXACT",
    ),
    "an old copy": (lambda left: left.store("orders", 5), "orders", "ADOPT_NOT_EXACT"),
    "columns of another type": (
        lambda left: left.store("orders", 1, pa.string()),
        "orders",
        "COLUMN_TYPE_CHANGED",
    ),
}


@pytest.mark.parametrize(("change", "dataset", "condition"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_exact_is_refused(
    adopter: Adopter, left: Left, root: Path, change: Change, dataset: str, condition: str
) -> None:
    if dataset == "orders" and condition == "ADOPT_NOT_EXACT":
        adopter.plan(dataset, str(left.checkpoint))  # it is exact before the change
    change(left)
    with pytest.raises(PenstockError) as refused:
        adopter.plan(dataset, str(left.checkpoint))
    assert refused.value.condition == condition
    assert "<" not in refused.value.message, "a fact is missing"
    assert not (root / "project/.penstock/checkpoints").exists()


def test_batches_that_the_table_lacks_are_not_taken_for_written(adopter: Adopter, left: Left) -> None:
    left.plan(2, '{"logOffset":1}')
    left.write("commits/2", 'v1\n{"nextBatchWatermarkMs":0}')
    with pytest.raises(PenstockError) as refused:
        adopter.plan("orders", str(left.checkpoint))
    assert refused.value.condition == "ADOPT_NOT_EXACT"


@pytest.mark.parametrize("name", ["commits/1", "offsets/2", "sources/0/2"])
def test_a_query_that_still_runs_is_noticed(adopter: Adopter, left: Left, name: str) -> None:
    planned = adopter.plan("orders", str(left.checkpoint))
    file = left.checkpoint / name
    file.unlink() if file.exists() else left.write(name, "v1\n{}")
    with pytest.raises(PenstockError) as refused:
        adopter.adopt(planned)
    assert refused.value.condition == "ADOPT_NOT_EXACT"
    assert list(Path(planned.place).parent.iterdir()) == [], "nothing is left of it"


def test_a_flow_with_a_checkpoint_keeps_it(adopter: Adopter, left: Left) -> None:
    adopter.adopt(adopter.plan("orders", str(left.checkpoint)))
    with pytest.raises(PenstockError) as refused:
        adopter.plan("orders", str(left.checkpoint))
    assert refused.value.condition == "ADOPT_TARGET_TAKEN"
    left.store("both", 1)
    with pytest.raises(PenstockError) as twice:
        adopter.plan("both", str(left.checkpoint))
    assert (twice.value.condition, "shop.orders" in twice.value.facts["reason"]) == ("ADOPT_NOT_EXACT", True)
