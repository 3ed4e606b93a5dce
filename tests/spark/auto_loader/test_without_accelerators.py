"""Auto Loader with its accelerators off: the same schemas, rows and logs, found in Spark's own way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from tests.spark.auto_loader.conftest import SOURCE, Landing

from penstock.spark import _jvm
from penstock.spark.accelerators.accelerator import choose
from penstock.spark.sources.auto_loader.formats.json_lines import inferred

Build = Callable[..., Landing]

_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"
_NAMES = st.sampled_from(["id", "ID", "name", "list", "a.b", "naïve", ""])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2026-01-01T08:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_DOCUMENTS = st.builds(json.dumps, _VALUES | st.dictionaries(_NAMES, _VALUES, max_size=4), ensure_ascii=st.booleans())
_PARTS = st.tuples(_DOCUMENTS, st.integers(1, 20)).map(lambda part: part[0][: part[1]])
_LINES = st.lists(_DOCUMENTS | _PARTS | st.text(max_size=8), min_size=1, max_size=30)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    choose({})


def _switch(state: str, *names: str) -> None:
    choose({f"penstock.accelerators.{name}": state for name in names})


@pytest.mark.parametrize(
    "options",
    [{}, {"prefersDecimal": "true", "inferTimestamp": "true"}, {"primitivesAsString": "true", "allowComments": "true"}],
)
def test_any_text_has_the_schema_that_spark_infers_of_all_lines(spark: SparkSession, options: dict[str, str]) -> None:
    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_LINES)
    def check(lines: list[str]) -> None:
        text = _text(spark, lines)
        _switch("on", "json_inference")
        accelerated = inferred(text, "value", options)
        _switch("off", "json_inference")
        assert inferred(text, "value", options) == accelerated

    check()


def test_numbers_with_an_exponent_are_decimals_either_way(spark: SparkSession) -> None:
    text = _text(spark, ['{"a": 1e5}', '{"a": 1.25}'])
    _switch("off", "json_inference")
    columns, _ = inferred(text, "value", {"prefersDecimal": "true"})
    assert columns.simpleString() == "struct<a:decimal(8,2)>"


@pytest.mark.parametrize("state", ["on", "off"])
def test_files_are_found_and_logged_in_the_same_way(spark: SparkSession, landing: Build, state: str) -> None:
    """The log is compacted in each second batch: its bytes are those that Spark's own code writes."""
    _switch(state, "file_listing", "read_files_log")
    spark.conf.set(_INTERVAL, "2")
    try:
        it = landing("text", maxFilesPerTrigger="1")
        for number in range(5):
            it.put(f'{number} "%.txt', f"{number}\n", modified=1_600_000_000.0 + number)
        it.run()
        it.put("later.txt", "later\n", modified=1_600_000_005.0)
        with it.streaming() as query:
            it.move_in("more.txt", "more\n", modified=1_600_000_006.0)
            query.processAllAvailable()
            source = _jvm.scala_seq(query._jsq.streamingQuery().sources())[0]
            assert (_field(source, "discovery").getClass().getSimpleName() == "ChangedFolders") == (state == "on")
            assert _field(_field(source, "log"), "accelerated") == (state == "on")
    finally:
        spark.conf.unset(_INTERVAL)
    assert it.rows("value") == [("0",), ("1",), ("2",), ("3",), ("4",), ("later",), ("more",)]
    log = it.root / "checkpoint" / "sources" / SOURCE
    logged = [(each.name, _entries(each)) for each in sorted(log.iterdir()) if each.name[0] in "0123456789"]
    batches = {name: [batch for _, batch in entries] for name, entries in logged}
    assert {name: batches[name] for name in ("3.compact", "5.compact", "6")} == {
        "3.compact": [0, 1, 2, 3],
        "5.compact": [0, 1, 2, 3, 4, 5],
        "6": [6],
    }
    files = ["0%20%22%25.txt", "1%20%22%25.txt", "2%20%22%25.txt", "3%20%22%25.txt", "4%20%22%25.txt", "later.txt"]
    assert [name for name, _ in dict(logged)["5.compact"]] == files


def _text(spark: SparkSession, lines: list[str]) -> DataFrame:
    """Lines of one task, which no Python worker makes."""
    return spark.createDataFrame(pa.table({"value": pa.array(lines, pa.string())})).coalesce(1)


def _field(owner: Any, name: str) -> Any:
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)


def _entries(file: Path) -> list[tuple[str, int]]:
    """The name and the batch of each entry, which must be spelled as Spark spells it."""
    version, *lines = file.read_text().splitlines()
    assert version == "v1"
    entries = [json.loads(line) for line in lines]
    assert [json.dumps(entry, separators=(",", ":"), ensure_ascii=False) for entry in entries] == lines
    return [(entry["path"].rpartition("/")[2], entry["batchId"]) for entry in entries]
