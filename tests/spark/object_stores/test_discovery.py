"""Of a folder in S3 only what is behind the last keys is listed, and no file is lost for that."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.integration.s3_server import S3Server
from tests.spark.auto_loader.conftest import Landing

from penstock.spark import _jvm
from penstock.spark.sources.stream_read import StreamRead

_LIST = re.compile(r'"GET /(\S+)\?(\S*list-type=2\S*) HTTP')


@dataclass
class Bucket(Landing):
    """A source whose files are in a bucket, each with its key as a row."""

    s3: S3Server = field(kw_only=True)
    name: str = field(kw_only=True)

    def read(self) -> StreamRead:
        return StreamRead("cloudFiles", self.options, "value STRING", f"s3a://{self.name}/in")

    def add(self, *keys: str) -> None:
        for key in keys:
            self.s3.client.put_object(Bucket=self.name, Key=f"in/{key}", Body=f"{key}\n".encode())

    def fill(self, folder: str = "") -> None:
        """More files than one can be late by; they are empty, as this is about finding files."""
        for number in range(140, 250):
            self.s3.client.put_object(Bucket=self.name, Key=f"in/{folder}k{number}", Body=b"")

    def found(self) -> list[str]:
        return [row[0] for row in self.rows("value")]

    def listings(self) -> list[str | None]:
        """Of each request that lists the folder the key behind which it begins."""
        log = self.s3.server.log.read_text()
        asked = [parse_qs(query) for bucket, query in _LIST.findall(log) if bucket == self.name]
        return [each.get("start-after", [None])[0] for each in asked if each["prefix"] == ["in/"]]


@pytest.fixture
def bucket(spark: SparkSession, tmp_path: Path, s3: S3Server, request: pytest.FixtureRequest) -> Bucket:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:40].strip("-")
    s3.bucket(name)
    options = {"cloudFiles.format": "text", "cloudFiles.schemaEvolutionMode": "none"}
    return Bucket(spark, tmp_path, options, s3=s3, name=name)


def _discovery(query: StreamingQuery, name: str) -> Any:
    source = _jvm.scala_seq(query._jsq.streamingQuery().sources())[0]
    return _private(_private(source, "discovery"), name)


def _private(owner: Any, name: str) -> Any:
    found = owner.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(owner)


@pytest.mark.accelerated
def test_later_batches_list_what_is_behind_the_last_keys(bucket: Bucket) -> None:
    bucket.options["cloudFiles.useIncrementalListing"] = "true"
    bucket.fill()
    with bucket.streaming() as query:
        listed, before = _discovery(query, "listed"), len(bucket.listings())
        bucket.add("k250", "z/_k251", "_k252", "k253")
        bucket.add("k200 late")  # but not by a hundred files
        query.processAllAvailable()
        assert bucket.found() == ["k200 late", "k250", "k253"]
        bucket.add("k000")
        query.processAllAvailable()
        assert "k000" not in bucket.found()
        assert all(each and each >= "in/k150" for each in bucket.listings()[before:])
    bucket.add("k254")
    bucket.add("k001")
    with bucket.streaming() as query:
        assert _discovery(query, "listed") == listed, "everything was listed once"
        assert bucket.found() == ["k200 late", "k250", "k253", "k254"]
    bucket.options["cloudFiles.backfillInterval"] = "1 second"
    time.sleep(1)
    with bucket.streaming() as query:
        assert _discovery(query, "listed") != listed
        bucket.add("z=1/k255")  # what it names is no column, as there was none at the first start
        query.processAllAvailable()
    assert bucket.found() == ["k000", "k001", "k200 late", "k250", "k253", "k254", "z=1/k255"]


@pytest.mark.slow
@pytest.mark.accelerated
def test_by_itself_order_is_found_out_and_a_late_file_is_found_all_the_same(bucket: Bucket) -> None:
    bucket.fill("day=01/")
    time.sleep(1)  # so fine are the times of a listing
    with bucket.streaming() as query:
        assert _discovery(query, "ordered")
        bucket.add("day=02/k100")
        query.processAllAvailable()
        assert bucket.found() == ["day=02/k100"]
        time.sleep(1)
        bucket.add("day=00/late")
        for _ in range(8):  # listings of later files, at most seven, and then one of everything
            query.processAllAvailable()
        assert bucket.found() == ["day=00/late", "day=02/k100"]
        assert not _discovery(query, "ordered"), "that file shows that files do not come in order"
        bucket.add("day=00/later")
        query.processAllAvailable()
        assert bucket.found() == ["day=00/late", "day=00/later", "day=02/k100"]
