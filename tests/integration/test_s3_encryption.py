"""What Penstock writes to S3 itself is encrypted by the store as the settings say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from tests.integration.s3_server import S3Server
from tests.integration.store_server import used_by_this_process

from penstock.events import EventLog, EventType, builders
from penstock.events.log.reads import ReadAudit, recorded_reads
from penstock.storage import Storage, StorageLock
from penstock.storage.delta.table import storage_options
from penstock.storage.stores.s3.objects import S3Object

KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
SEALED = ("aws:kms", KEY)


def heads(s3: S3Server, bucket: str) -> dict[str, tuple[Any, Any]]:
    """Returns with which encryption and key each object was written: moto keeps what the request's headers said."""
    found = {each: s3.client.head_object(Bucket=bucket, Key=each) for each in s3.keys(bucket)}
    return {key: (head.get("ServerSideEncryption"), head.get("SSEKMSKeyId")) for key, head in found.items()}


def test_what_is_written_is_encrypted_as_the_settings_say(tmp_path: Path) -> None:
    settings = {"encryption.algorithm": "SSE-KMS", "encryption.key": KEY}
    with S3Server(tmp_path) as s3, used_by_this_process(s3, **settings):
        place = s3.bucket("sealed")
        S3Object(f"{place}/object").put(b"1")
        write_deltalake(f"{place}/orders", pa.table({"id": [1]}), storage_options=storage_options(f"{place}/orders"))
        found = heads(s3, "sealed")
    assert len(found) == 3
    assert set(found.values()) == {SEALED}


def test_lock_events_reads_and_notes_are_encrypted_too(tmp_path: Path) -> None:
    settings = {"encryption.algorithm": "SSE-KMS", "encryption.key": KEY}
    with S3Server(tmp_path) as s3, used_by_this_process(s3, **settings):
        place = s3.bucket("sealed") + "/storage"
        with StorageLock(place), EventLog.open(place, pipeline_name="orders", update_id="u") as log:
            log.append(EventType.USER_ACTION, *builders.user_action("START"))
        for _ in range(2):
            assert ReadAudit(place, "orders", required=True).record(["shop.orders"], 1, {}) is None
        Storage(place).write_text_atomic("checkpoints/note.json", "{}")
        found = heads(s3, "sealed")
        reads = list(recorded_reads(place))
    names = {name.removeprefix("storage/") for name in found}
    assert {"lock.json", "reads/000001.jsonl", "checkpoints/note.json"} < names
    assert any(name.startswith("events/") for name in names)
    assert set(found.values()) == {SEALED}
    assert [each.tampering for each in reads] == [None, None]


def test_without_a_setting_the_bucket_decides(tmp_path: Path) -> None:
    with S3Server(tmp_path) as s3, used_by_this_process(s3):
        Storage(s3.bucket("plain")).write_text_atomic("note", "1")
        assert SEALED not in heads(s3, "plain").values()
