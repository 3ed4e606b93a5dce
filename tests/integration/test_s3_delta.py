"""Delta tables on an S3 on loopback, without Spark: opened, written by two at once, and refused by name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError
from tests.integration.s3_server import S3Server

from penstock.dashboard.stored_tables import StoredTables
from penstock.errors import ConfigError, ExternalError
from penstock.spark.delta.quick_append import append
from penstock.storage import Storage
from penstock.storage.delta.log import log_damage, remove_unfinished_log
from penstock.storage.delta.table import has_delta_log, is_delta_table, open_delta_table
from penstock.storage.object_stores.s3 import delta_options, use_s3_settings

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as started:
        yield started


@pytest.fixture
def s3(server: S3Server) -> Iterator[S3Server]:
    use_s3_settings(server.settings)
    yield server
    use_s3_settings(dict)


def table(place: str) -> str:
    write_deltalake(place, ROWS, storage_options=delta_options(place))
    return place


def test_a_table_is_opened_by_its_place(s3: S3Server) -> None:
    place = f"{s3.bucket('opened')}/a b/orders=ü"
    assert (is_delta_table(place), has_delta_log(place)) == (False, False)
    with pytest.raises(DeltaError):
        open_delta_table(place)
    table(place)
    assert (is_delta_table(place), has_delta_log(place)) == (True, True)
    append(open_delta_table(place), ROWS, ("query", 3))
    append(open_delta_table(place), ROWS, ("query", 3))  # again, after a crash
    opened = open_delta_table(place)
    assert (opened.version(), opened.transaction_version("query"), opened.count()) == (1, 3, 4)
    assert open_delta_table(place, version=0).count() == 2
    assert log_damage(opened, place) is None
    remove_unfinished_log(place)
    assert open_delta_table(place).count() == 4
    Storage(place).delete("_delta_log")
    Storage(place).delete("")
    assert not [key for key in s3.keys("opened") if "orders" in key and not key.endswith("/")]


def test_no_commit_of_writers_at_once_is_lost(s3: S3Server) -> None:
    place = table(f"{s3.bucket('busy')}/orders")

    def write(writer: int) -> None:
        for batch in range(4):
            append(open_delta_table(place), pa.table({"id": [writer * 100 + batch]}), (str(writer), batch))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(1, 4)))
    assert open_delta_table(place).version() == 12
    assert open_delta_table(place).count() == 14


def test_what_is_written_is_encrypted_as_the_settings_say(s3: S3Server) -> None:
    key = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    use_s3_settings(lambda: s3.settings(**{"encryption.algorithm": "SSE-KMS", "encryption.key": key}))
    table(f"{s3.bucket('sealed')}/orders")
    heads = [s3.client.head_object(Bucket="sealed", Key=each) for each in s3.keys("sealed")]
    assert {(head["ServerSideEncryption"], head["SSEKMSKeyId"]) for head in heads} == {("aws:kms", key)}


def test_what_the_store_refuses_is_told(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    place = table(f"{s3.bucket('closed')}/orders")
    for look in (is_delta_table, open_delta_table):
        with pytest.raises(ConfigError) as caught:
            look("s3a://no-such-bucket/orders")
        assert caught.value.condition == "OBJECT_STORE_BUCKET_NOT_FOUND"
        with s3.checking_credentials(), pytest.raises(ConfigError) as caught:
            look(place)
        assert caught.value.condition == "OBJECT_STORE_ACCESS_DENIED"
        assert place in str(caught.value.facts["detail"])
    use_s3_settings(lambda: s3.settings(**{"access.key": "", "secret.key": ""}))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    started = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        is_delta_table(place)
    assert caught.value.condition == "OBJECT_STORE_CREDENTIALS_MISSING", caught.value.facts
    assert time.monotonic() - started < 10


def test_a_store_that_is_away_is_waited_for(s3: S3Server) -> None:
    use_s3_settings(lambda: s3.settings(endpoint="http://127.0.0.1:1"))
    started = time.monotonic()
    with pytest.raises(ExternalError) as caught:
        is_delta_table("s3a://lake/orders")
    print(time.monotonic() - started)
    assert caught.value.condition == "STORAGE_FAILED"
    assert caught.value.retryable


def test_the_dashboard_reads_with_the_settings_of_the_pipeline(s3: S3Server, tmp_path: object) -> None:
    place = table(f"{s3.bucket('seen')}/orders")
    answer = StoredTables(str(tmp_path)).read("table", name="shop.orders", path=place, version=None)
    assert (answer["error"], sorted(answer["rows"]), len(answer["versions"])) == (None, [["1"], ["2"]], 1)
    quarantine = StoredTables(str(tmp_path)).read("quarantine", name="shop.orders", path=place)
    assert quarantine["none"]
