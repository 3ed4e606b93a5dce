"""Tables in an S3 that refuses for a while: afterwards each row is there once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server
from tests.processes import wait_until
from tests.spark.object_stores.test_tables import rows
from tests.spark.pipeline_project import PipelineProject
from tests.store_faults import ExpiringStore, Fault, FaultyStore, busy_until, clock_ahead, expired_but, in_region

from penstock.config import RetrySettings
from penstock.errors import PenstockError
from penstock.events import Event, UpdateState
from penstock.runtime import UpdateOutcome
from penstock.spark._jvm import jvm
from penstock.spark.accelerators.own_classes import S3_CREDENTIALS
from penstock.spark.failures.translate import translate_failure
from penstock.storage.stores.settings import use_store_settings

_BUCKET = "outages"
_SETTINGS = ("endpoint", "aws.credentials.provider")
_ACCOUNT = "shop.dfs.core.windows.net"
_NO_KEYS = {"access.key": "", "secret.key": ""}
_RETRIES = ("retry.throttle.limit", "attempts.maximum")
_FILES = {"aws.sharedCredentialsFile": "AWS_SHARED_CREDENTIALS_FILE", "aws.configFile": "AWS_CONFIG_FILE"}
_LOGIN = """
printf '{"Version": 1, "AccessKeyId": "AKIATESTS", "SecretAccessKey": "s", "SessionToken": "%s", "Expiration": "%s"}' \\
    "$(cat TOKEN)" "$(date -u -d '17 seconds' +%Y-%m-%dT%H:%M:%SZ)"
"""
"""The SDK starts a program again 15 seconds before what it has printed expires."""


@dataclass(slots=True)
class Lake:
    """A pipeline with tables in a bucket, reached through `front` with the credentials of a file."""

    project: PipelineProject
    front: FaultyStore
    credentials: Path
    of_program: bool = False
    arrived: int = 0

    def renew(self, token: str) -> None:
        """Writes the file of credentials, as a login does, or what a program prints from now on."""
        if self.of_program:
            self.credentials.write_text(token)
            return
        text = f"[default]\naws_access_key_id = AKIATESTS\naws_secret_access_key = s\naws_session_token = {token}\n"
        self.credentials.write_text(text)

    def arrive(self) -> None:
        self.arrived += 1
        self.project.arrive(str(self.arrived), [{"id": self.arrived}, {"id": -self.arrived}])

    def use(self, address: str) -> None:
        """Has Spark's client reach the bucket at another address."""
        hadoop = self.project.spark._jsc.hadoopConfiguration()
        for name, value in zip(_SETTINGS, (f"http://{address}", S3_CREDENTIALS), strict=True):
            hadoop.set(f"fs.s3a.bucket.{_BUCKET}.{name}", value)
        jvm(self.project.spark).org.apache.hadoop.fs.FileSystem.closeAll()

    def await_rows(self, running: Future[UpdateOutcome]) -> None:
        """Waits until all that has arrived is in the table."""

        def there() -> bool:
            return running.done() or rows(self.place, "id") == [(number,) for number in range(1, self.arrived + 1)]

        wait_until(there, timeout=90, what="the rows")
        assert not running.done(), running.result()

    @property
    def place(self) -> str:
        return f"s3a://{_BUCKET}/{self.credentials.parent.name}/orders"

    def run_with(self, fault: Fault) -> tuple[PenstockError, ...]:
        self.front.fault = fault
        try:
            return self.project.run().errors
        finally:
            self.front.fault = None

    def assert_tables(self) -> None:
        ids = [(number,) for number in range(1, self.arrived + 1)]
        assert rows(self.place, "id") == ids
        assert rows(f"{self.place}__quarantine", "id") == sorted((-number,) for (number,) in ids)


@pytest.fixture(params=["file"])
def lake(
    request: pytest.FixtureRequest,
    project: PipelineProject,
    s3: S3Server,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Lake]:
    if _BUCKET not in {each["Name"] for each in s3.client.list_buckets()["Buckets"]}:
        s3.bucket(_BUCKET)
    hadoop, java = spark._jsc.hadoopConfiguration(), jvm(spark).java.lang.System
    with FaultyStore(s3.port) as front:
        made = Lake(project, front, tmp_path / "credentials", of_program=request.param == "program")
        made.use(front.address)
        login, config = tmp_path / "login.sh", tmp_path / "config"
        login.write_text(_LOGIN.replace("TOKEN", str(made.credentials)))
        config.write_text(f"[default]\ncredential_process = sh {login}\n" if made.of_program else "")
        files = (tmp_path / "none" if made.of_program else made.credentials, config)
        for (name, variable), file in zip(_FILES.items(), files, strict=True):
            java.setProperty(name, str(file))
            monkeypatch.setenv(variable, str(file))
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
        for name in _FILES:
            java.clearProperty(name)
        for name in (*_SETTINGS, *_RETRIES):
            hadoop.unset(f"fs.s3a.bucket.{_BUCKET}.{name}")
        jvm(spark).org.apache.hadoop.fs.FileSystem.closeAll()  # the next front has another address


@pytest.mark.parametrize("fault", [clock_ahead(3600), in_region("eu-west-1")], ids=["clock", "region"])
def test_a_store_with_another_time_or_region_is_heeded_by_its_client(lake: Lake, fault: Fault) -> None:
    assert lake.run_with(fault) == ()
    assert lake.front.refused > 0
    lake.assert_tables()


def test_credentials_that_expire_in_mid_run_end_it_and_nothing_is_lost(lake: Lake) -> None:
    """Spark's client gets no reason where a HEAD is refused."""
    [error] = lake.run_with(expired_but(lambda: "another"))
    assert (error.condition, error.is_outage) == ("OBJECT_STORE_CREDENTIALS_EXPIRED", True)
    assert f"s3a://{_BUCKET}" in error.message
    lake.renew("another")
    assert lake.project.run().errors == ()
    lake.assert_tables()


@pytest.mark.parametrize("lake", ["file", "program"], indirect=True)
def test_a_continuous_run_goes_on_with_renewed_credentials(lake: Lake, s3: S3Server, tmp_path: Path) -> None:
    """All clients take those that have replaced the old ones, before or after these have expired."""
    lake.project.retries = RetrySettings(first_delay=0.2, longest_delay=1.0)
    stop, events = threading.Event(), list[Event]()
    with ExpiringStore(s3.port, tmp_path) as front, ThreadPoolExecutor(1) as pool:
        lake.use(front.address)
        use_store_settings(lambda: s3.settings(endpoint=f"http://{front.address}", **_NO_KEYS))
        running = pool.submit(lake.project.run, trigger="200 milliseconds", stop=stop, on_event=events.append)
        try:
            lake.await_rows(running)
            lake.renew("second")
            front.refuse_all_but("second")
            lake.arrive()
            lake.await_rows(running)
            front.refuse_all_but("third")
            lake.arrive()
            seen = len(events)
            wait_until(lambda: running.done() or bool(_conditions(events[seen:])), timeout=60, what="an expiry")
            lake.renew("third")
            lake.await_rows(running)
        finally:
            stop.set()
        outcome = running.result(60)
        assert (outcome.state, outcome.errors) == (UpdateState.CANCELED, ())
        # The token may be renewed after a HEAD was refused and before Spark's client asks again for the reason.
        assert set(_conditions(events)) - {"STORAGE_FAILED"} == {"OBJECT_STORE_CREDENTIALS_EXPIRED"}
        lake.assert_tables()


def _conditions(events: list[Event]) -> list[str]:
    return [str(event.error["condition"]) for event in events if event.error is not None]


def test_a_store_that_is_busy_for_a_while_is_waited_for(lake: Lake) -> None:
    assert lake.run_with(busy_until(time.monotonic() + 5)) == ()
    assert lake.front.refused > 0
    lake.assert_tables()


@pytest.mark.slow  # Spark's client gives up the status of a file after 31 s: the flow is tried again
@pytest.mark.timeout(600)
def test_a_store_that_is_busy_for_a_minute_is_waited_for(lake: Lake) -> None:
    lake.project.retries = RetrySettings()
    assert lake.run_with(busy_until(time.monotonic() + 60)) == ()
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


@pytest.mark.parametrize(
    ("place", "settings"),
    [
        (
            f"abfs://lake@{_ACCOUNT}/orders",
            {
                "azure.abfs.endpoint": "{address}",
                "azure.always.use.https": "false",
                "azure.networking.library": "JDK_HTTP_URL_CONNECTION",
                "azure.account.hns.enabled": "false",
                "azure.fns.account.service.type": "BLOB",
                f"azure.account.key.{_ACCOUNT}": "a2V5",
                "azure.io.retry.max.retries": "1",
            },
        ),
        (
            "gs://lake/orders",
            {
                "gs.storage.root.url": "http://{address}/",
                "gs.project.id": "shop",
                "gs.auth.type": "UNAUTHENTICATED",
                "gs.http.max.retry": "1",
            },
        ),
    ],
    ids=["azure", "gcs"],
)
def test_other_stores_that_stay_busy_are_named_too(
    spark: SparkSession, place: str, settings: Mapping[str, str]
) -> None:
    hadoop = spark._jsc.hadoopConfiguration()
    with FaultyStore(1) as front:
        front.fault = busy_until(time.monotonic() + 3600)
        for name, value in settings.items():
            hadoop.set(f"fs.{name}", value.format(address=front.address))
        try:
            with pytest.raises(Exception) as caught:  # noqa: PT011 - of Spark, or of py4j
                spark.read.schema("id LONG").json(place).collect()
        finally:
            for name in settings:
                hadoop.unset(f"fs.{name}")
            jvm(spark).org.apache.hadoop.fs.FileSystem.closeAll()
    error = translate_failure(caught.value, dataset="orders", flow="orders")
    assert (error.condition, error.is_outage, front.refused > 1) == ("STORAGE_FAILED", True, True)
