"""What Penstock writes to S3 itself is encrypted by the store as the settings say."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from tests.integration.s3_server import S3Server
from tests.integration.store_server import used_by_this_process

from penstock.storage.delta.table import storage_options
from penstock.storage.object_stores.s3.objects import S3Object

KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def test_what_is_written_is_encrypted_as_the_settings_say(tmp_path: Path) -> None:
    settings = {"encryption.algorithm": "SSE-KMS", "encryption.key": KEY}
    with S3Server(tmp_path) as s3, used_by_this_process(s3, **settings):
        place = s3.bucket("sealed")
        S3Object(f"{place}/object").put(b"1")
        write_deltalake(f"{place}/orders", pa.table({"id": [1]}), storage_options=storage_options(f"{place}/orders"))
        keys = s3.keys("sealed")
        heads = [s3.client.head_object(Bucket="sealed", Key=each) for each in keys]
    assert len(keys) == 3
    assert {(head["ServerSideEncryption"], head["SSEKMSKeyId"]) for head in heads} == {("aws:kms", KEY)}
