"""Tables in an S3 that refuses for a while: afterwards each row is there once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server
from tests.spark.object_stores.test_tables import rows
from tests.spark.pipeline_project import PipelineProject
from tests.store_faults import Fault, FaultyStore, busy_until, clock_ahead, expired_but, in_region

from penstock.errors import PenstockError
from penstock.spark._jvm import jvm
from penstock.storage.stores.settings import use_store_settings

_BUCKET = "outages"
_SETTINGS = ("endpoint", "aws.credentials.provider")
_RETRIES = ("retry.throttle.limit", "attempts.maximum")
_PROFILE = "software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider"
_FILE = "aws.sharedCredentialsFile"


@dataclass(slots=True)
class Lake:
    """A pipeline with tables in a bucket, reached through `front` with the credentials of a file."""

    project: PipelineProject
    front: FaultyStore
    credentials: Path
    arrived: int = 0

    def renew(self, token: str) -> None:
        """Writes the file of credentials, as a login does."""
        text = f"[default]\naws_access_key_id = AKIATESTS\naws_secret_access_key = s\naws_session_token = {token}\n"
        self.credentials.write_text(text)

    def arrive(self) -> None:
        self.arrived += 1
        self.project.arrive(str(self.arrived), [{"id": self.arrived}, {"id": -self.arrived}])

    def run_with(self, fault: Fault) -> tuple[PenstockError, ...]:
        self.front.fault = fault
        try:
            return self.project.run().errors
        finally:
            self.front.fault = None

    def assert_tables(self) -> None:
        ids = [(number,) for number in range(1, self.arrived + 1)]
        assert rows(f"s3a://{_BUCKET}/{self.credentials.parent.name}/orders", "id") == ids
        quarantined = f"s3a://{_BUCKET}/{self.credentials.parent.name}/orders__quarantine"
        assert rows(quarantined, "id") == sorted((-number,) for (number,) in ids)


@pytest.fixture
def lake(project: PipelineProject, s3: S3Server, spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    if _BUCKET not in {each["Name"] for each in s3.client.list_buckets()["Buckets"]}:
        s3.bucket(_BUCKET)
    hadoop, java = spark._jsc.hadoopConfiguration(), jvm(spark).java.lang.System
    with FaultyStore(s3.port) as front:
        for name, value in zip(_SETTINGS, (f"http://{front.address}", _PROFILE), strict=True):
            hadoop.set(f"fs.s3a.bucket.{_BUCKET}.{name}", value)
        made = Lake(project, front, tmp_path / "credentials")
        java.setProperty(_FILE, str(made.credentials))
        made.renew("first")
        use_store_settings(s3.settings)
        project.write(f"""
            @dlt.table(path="s3a://{_BUCKET}/{tmp_path.name}/orders")
            @dlt.expect_or_quarantine("real", "id > 0")
            def orders():
                return spark.readStream.schema("id LONG").json("in")
            """)
        made.arrive()
        assert project.run().errors == ()
        made.arrive()
        yield made
        front.fault = None
        java.clearProperty(_FILE)
        for name in (*_SETTINGS, *_RETRIES):
            hadoop.unset(f"fs.s3a.bucket.{_BUCKET}.{name}")
        jvm(spark).org.apache.hadoop.fs.FileSystem.closeAll()  # the next front has another address


@pytest.mark.parametrize("fault", [clock_ahead(3600), in_region("eu-west-1")], ids=["clock", "region"])
def test_a_store_with_another_time_or_region_is_heeded_by_its_client(lake: Lake, fault: Fault) -> None:
    assert lake.run_with(fault) == ()
    assert lake.front.refused > 0
    lake.assert_tables()


def test_credentials_that_expire_in_mid_run_end_it_and_nothing_is_lost(lake: Lake) -> None:
    [error] = lake.run_with(expired_but(lambda: "another"))
    assert error.is_outage
    assert "s3a://" in error.message
    lake.renew("another")
    assert lake.project.run().errors == ()
    lake.assert_tables()


def test_a_store_that_is_busy_for_a_while_is_waited_for(lake: Lake) -> None:
    assert lake.run_with(busy_until(time.monotonic() + 5)) == ()
    assert lake.front.refused > 0
    lake.assert_tables()


def test_a_store_that_stays_busy_ends_the_run_and_nothing_is_lost(lake: Lake) -> None:
    hadoop = lake.project.spark._jsc.hadoopConfiguration()
    hadoop.set(f"fs.s3a.bucket.{_BUCKET}.retry.throttle.limit", "2")
    hadoop.set(f"fs.s3a.bucket.{_BUCKET}.attempts.maximum", "1")
    jvm(lake.project.spark).org.apache.hadoop.fs.FileSystem.closeAll()  # the next client reads them
    began = time.monotonic()
    [error] = lake.run_with(busy_until(began + 3600))
    assert (error.condition, error.is_outage, time.monotonic() - began < 120) == ("STORAGE_FAILED", True, True)
    assert lake.project.run().errors == ()
    lake.assert_tables()
