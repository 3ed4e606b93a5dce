"""State of plain Spark queries that goes on in a pipeline: the rows are those of a query that was never stopped."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError
from penstock.events import UpdateState
from penstock.runtime.commands.adopt import Adopter
from penstock.runtime.project.workspace import say_nothing
from penstock.spark.session.query_settings import query_settings

_SCHEMA = "id LONG, shop STRING, other STRING, at TIMESTAMP, amount LONG"
_TIMED = 'read("in").withWatermark("at", "1 minute")'
QUERIES = {
    "distinct": 'read("in").dropDuplicates(["shop", "id"])',
    "within": f'{_TIMED}.dropDuplicatesWithinWatermark(["id"])',
    "windows": f'{_TIMED}.groupBy(sf.window("at", "1 minute"), "shop").agg(sf.sum("amount").alias("amount"))',
    "totals": 'read("in").groupBy("shop").agg(sf.sum("amount").alias("amount"), sf.count("*").alias("rows"))',
    "joined": (
        f'{_TIMED}.alias("a").join(read("others").withWatermark("at", "1 minute").alias("b"), '
        'sf.expr("a.id = b.id AND b.at BETWEEN a.at AND a.at + INTERVAL 1 MINUTE")).select("a.id", "b.amount")'
    ),
}
_COMPLETE = {"totals"}
_PLAIN = {
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
}


class Shop:
    """Files of one batch each, plain queries over them, and the pipeline that takes these over."""

    def __init__(self, project: PipelineProject) -> None:
        self.project, self.at, self.spark = project, project.directory, project.spark

    def arrive(self, *numbers: int) -> None:
        for number in numbers:
            rows = [self._row(number, each) for each in range(4)]
            self.project.arrive(str(number), [*rows, rows[0], self._row(number - 1, 3)])
            self.project.arrive(str(number), rows, folder="others")

    @staticmethod
    def _row(number: int, each: int) -> dict[str, Any]:
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=40 * number + each)
        shop = "north" if each % 2 else "south"
        return {"id": 10 * number + each, "shop": shop, "other": "x", "at": at.isoformat(), "amount": number}

    def plain(self, name: str, *, table: str | None = None) -> None:
        """Runs a query until it has read all files, one of each folder a batch."""

        def read(folder: str) -> DataFrame:
            stream = self.spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
            return stream.json(f"{self.at}/{folder}")

        place = table or name
        with query_settings(self.spark, _PLAIN):
            frame: DataFrame = eval(QUERIES[name], {"read": read, "sf": sf})
            mode = "complete" if name in _COMPLETE else "append"
            writer = frame.writeStream.format("delta").option("checkpointLocation", f"{self.at}/checkpoints/{place}")
            writer = writer.outputMode(mode)
            writer.trigger(availableNow=True).start(f"{self.at}/{place}").awaitTermination()

    def declare(self, **queries: str) -> None:
        lines = [
            "from pyspark.sql import functions as sf\n",
            f"def read(folder):\n    return spark.readStream.schema('{_SCHEMA}').json(f'{self.at}/{{folder}}')\n",
        ]
        for name, query in queries.items():
            lines.append(f"@dp.table(path='{self.at}/{name}')\ndef {name}():\n    return {query}\n")
        self.project.write("\n\n".join(lines))

    def adopter(self) -> Adopter:
        return Adopter(self.project.config, say_nothing, spark=self.spark)

    def checkpoint(self, name: str) -> Path:
        return self.at / "checkpoints" / name

    def lose_commit(self, name: str) -> None:
        """As if the process had died after the table had the newest batch."""
        commits = self.checkpoint(name) / "commits"
        newest = max((file for file in commits.iterdir() if file.name.isdecimal()), key=lambda file: int(file.name))
        newest.unlink()
        (commits / f".{newest.name}.crc").unlink(missing_ok=True)

    def rows(self, name: str) -> Counter[tuple[str, ...]]:
        return Counter(tuple(map(str, row.values())) for row in read_table(self.at / name))


@pytest.fixture
def shop(project: PipelineProject) -> Shop:
    return Shop(project)


@pytest.mark.parametrize(
    "names", [("distinct", "windows", "totals"), pytest.param((*QUERIES,), marks=pytest.mark.slow)], ids=len
)
def test_state_goes_on_as_if_the_query_had(shop: Shop, names: tuple[str, ...]) -> None:
    shop.arrive(1, 2, 3)
    for name in names:
        shop.plain(name)
    for name in {"windows", "totals"} & {*names}:
        shop.lose_commit(name)
    shop.declare(**{name: QUERIES[name] for name in names})
    adopter = shop.adopter()
    for name in names:
        planned = adopter.plan(name, str(shop.checkpoint(name)))
        proof = adopter.prove(planned, say_nothing)
        assert proof is not None, name
        assert proof.state_rows > 0, name
        adopter.adopt(planned)
    shop.arrive(4, 5)
    outcome = shop.project.run()
    assert (outcome.state, outcome.errors) == (UpdateState.COMPLETED, ())
    for name in names:
        shop.plain(name, table=f"{name}_uninterrupted")
        assert shop.rows(name) == shop.rows(f"{name}_uninterrupted"), name


def _nothing(_: Path) -> None:
    """The checkpoint stays as it is."""


def _lose(file: str) -> Callable[[Path], object]:
    return lambda checkpoint: shutil.rmtree(place) if (place := checkpoint / file).is_dir() else place.unlink()


_OTHER_WINDOWS = QUERIES["windows"].replace('window("at", "1 minute")', 'window("at", "2 minutes")')
REFUSED: dict[str, tuple[str, str, Callable[[Path], object], str]] = {
    "other keys": ("distinct", 'read("in").dropDuplicates(["shop", "amount"])', _nothing, "leaves another state"),
    "other rows": (
        "distinct",
        QUERIES["distinct"] + '.withColumn("amount", sf.col("amount") * 2)',
        _nothing,
        "gives other rows than version",
    ),
    "another operator": ("distinct", QUERIES["within"], _nothing, "cannot be run again"),
    "no operator": ("distinct", 'read("in")', _nothing, "the flow keeps none"),
    "another aggregate": ("windows", QUERIES["windows"].replace("sum(", "max("), _nothing, "leaves another state"),
    "another total": ("totals", QUERIES["totals"].replace("sum(", "max("), _nothing, "leaves another state"),
    "other totals": (
        "totals",
        QUERIES["totals"] + '.withColumn("rows", sf.col("rows") + 1)',
        _nothing,
        "gives other rows than version",
    ),
    "longer windows": ("windows", _OTHER_WINDOWS, _nothing, "leaves another state"),
    "no state": ("distinct", QUERIES["distinct"], _lose("state"), "the query has kept none"),
    "half a state": ("distinct", QUERIES["distinct"], _lose("state/0/0/2.delta"), "state/0/0/2.delta, a part of its"),
    "no description": ("distinct", QUERIES["distinct"], _lose("state/0/_metadata"), "operator 0 cannot be read"),
    "only its newest state": ("distinct", QUERIES["distinct"], _lose("offsets/0"), "nothing shows that the flow"),
}


@pytest.fixture(scope="module")
def left(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """What two queries have left behind."""
    shop = Shop(PipelineProject(tmp_path_factory.mktemp("left"), spark))
    shop.arrive(1, 2)
    shop.plain("distinct")
    shop.plain("windows")
    shop.plain("totals")
    return shop


@pytest.mark.parametrize(("name", "query", "change", "reason"), REFUSED.values(), ids=REFUSED)
def test_state_of_another_query_is_refused(
    left: Shop, tmp_path: Path, name: str, query: str, change: Callable[[Path], object], reason: str
) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(left.checkpoint(name), checkpoint)
    change(checkpoint)
    left.declare(**{name: query})
    adopter = left.adopter()
    with pytest.raises(StateError) as refused:
        adopter.prove(adopter.plan(name, str(checkpoint)), say_nothing)
    assert refused.value.condition == "ADOPT_NOT_EXACT"
    assert reason in refused.value.facts["reason"]
    assert not [*left.at.glob(".penstock/scratch/*"), *left.at.glob(".penstock/checkpoints/**/metadata")]


@pytest.mark.parametrize("file", ["state/0/0/2.delta", "offsets/0"])
def test_a_query_that_cleans_up_meanwhile_is_noticed(left: Shop, tmp_path: Path, file: str) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(left.checkpoint("distinct"), checkpoint)
    left.declare(distinct=QUERIES["distinct"])
    adopter = left.adopter()
    planned = adopter.plan("distinct", str(checkpoint))
    (checkpoint / file).unlink()
    with pytest.raises(StateError) as refused:
        adopter.prove(planned, say_nothing)
    assert "its checkpoint changes" in refused.value.facts["reason"]
