from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from penstock.errors import ConfigError
from penstock.storage.delta.table import storage_options
from penstock.storage.stores.s3.settings import s3_arguments, s3a_uri
from penstock.storage.stores.s3.store import S3Store
from penstock.storage.stores.settings import store_settings, use_store_settings

HTTP = {"endpoint": "http://127.0.0.1:9000", "path.style.access": "true"}
LOCAL = {"scheme": "http", "endpoint_override": "127.0.0.1:9000", "force_virtual_addressing": False}
ANONYMOUS = {"aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}
KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd"
PATH_STYLE = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9000",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
    "AWS_ALLOW_HTTP": "true",
}


@pytest.fixture(autouse=True)
def _no_settings_left() -> Iterator[None]:
    yield
    use_store_settings(dict)


def use(settings: Mapping[str, str]) -> None:
    use_store_settings(lambda: {f"spark.hadoop.fs.s3a.{key}": value for key, value in settings.items()})


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        ({}, {}),
        (HTTP, LOCAL),
        (
            {"endpoint": "s3.example.test", "endpoint.region": "eu-central-1"},
            {
                "region": "eu-central-1",
                "scheme": "https",
                "endpoint_override": "s3.example.test",
                "force_virtual_addressing": True,
            },
        ),
        (
            {"endpoint": "s3.eu-west-3.amazonaws.com"},
            {
                "region": "eu-west-3",
                "scheme": "https",
                "endpoint_override": "s3.eu-west-3.amazonaws.com",
                "force_virtual_addressing": True,
            },
        ),
        ({**HTTP, "endpoint": "127.0.0.1:9000/", "connection.ssl.enabled": "false"}, LOCAL),
        (
            {"access.key": "A", "secret.key": " S ", "session.token": "T"},
            {"access_key": "A", "secret_key": "S", "session_token": "T"},
        ),
        ({"access.key": "A", "bucket.lake.access.key": "B", "bucket.other.access.key": "C"}, {"access_key": "B"}),
        (ANONYMOUS, {"anonymous": True}),
    ],
)
def test_the_settings_of_s3a_are_those_of_the_python_client(
    settings: Mapping[str, str], arguments: Mapping[str, Any]
) -> None:
    use(settings)
    assert s3_arguments("lake") == arguments


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {"AWS_FORCE_CREDENTIAL_LOAD": "true"}),
        (ANONYMOUS, {"AWS_SKIP_SIGNATURE": "true"}),
        ({**ANONYMOUS, **HTTP}, {"AWS_SKIP_SIGNATURE": "true", **PATH_STYLE}),
        (
            {"access.key": "A", "secret.key": "S", "session.token": "T", "endpoint.region": "eu-central-1"},
            {
                "AWS_ACCESS_KEY_ID": "A",
                "AWS_SECRET_ACCESS_KEY": "S",
                "AWS_SESSION_TOKEN": "T",
                "AWS_REGION": "eu-central-1",
            },
        ),
        (
            {**ANONYMOUS, "endpoint": "s3.eu-west-3.amazonaws.com"},
            {
                "AWS_SKIP_SIGNATURE": "true",
                "AWS_REGION": "eu-west-3",
                "AWS_ENDPOINT_URL": "https://lake.s3.eu-west-3.amazonaws.com",
                "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
                "AWS_ALLOW_HTTP": "false",
            },
        ),
        (
            {**ANONYMOUS, "encryption.algorithm": "AES256"},
            {"AWS_SKIP_SIGNATURE": "true", "AWS_SERVER_SIDE_ENCRYPTION": "AES256"},
        ),
        (
            {**ANONYMOUS, "bucket.lake.encryption.algorithm": "SSE-KMS", "encryption.key": KEY},
            {
                "AWS_SKIP_SIGNATURE": "true",
                "AWS_SERVER_SIDE_ENCRYPTION": "aws:kms",
                "AWS_SSE_KMS_KEY_ID": KEY,
            },
        ),
        (
            {**ANONYMOUS, "server-side-encryption-algorithm": "SSE-KMS", "server-side-encryption.key": KEY},
            {
                "AWS_SKIP_SIGNATURE": "true",
                "AWS_SERVER_SIDE_ENCRYPTION": "aws:kms",
                "AWS_SSE_KMS_KEY_ID": KEY,
            },
        ),
    ],
)
def test_the_settings_of_s3a_are_those_of_delta_rs(settings: Mapping[str, str], options: Mapping[str, str]) -> None:
    use(settings)
    assert storage_options("s3a://lake/orders") == {"AWS_CONDITIONAL_PUT": "etag", **options}


@pytest.mark.parametrize("algorithm", ["SSE-C", "CSE-KMS", "CSE-CUSTOM"])
def test_an_encryption_whose_key_only_spark_has_is_refused(algorithm: str) -> None:
    use({"encryption.algorithm": algorithm})
    with pytest.raises(ConfigError) as caught:
        storage_options("s3a://lake/orders")
    assert caught.value.condition == "OBJECT_STORE_ENCRYPTION_UNSUPPORTED"
    assert caught.value.facts == {
        "uri": "s3a://lake/orders",
        "setting": f"fs.s3a.encryption.algorithm: {algorithm}",
    }


def test_a_table_on_a_disk_needs_no_options_and_no_secret() -> None:
    def resolve() -> Mapping[str, str]:
        raise AssertionError("nobody has asked for an object store")

    use_store_settings(resolve)
    assert storage_options("/data/s3/orders") is None
    assert storage_options("file:///data/orders") is None


def test_a_place_in_s3_has_one_spelling() -> None:
    assert {s3a_uri(uri) for uri in ("s3://lake/a b/", "s3a://lake/a b", "S3A://lake/a b//")} == {"s3a://lake/a b"}


@pytest.mark.parametrize("uri", ["s3a://lake", "s3a://lake/a%20b", "s3a://lake/a?b", "s3a://lake/a#b"])
def test_not_every_place_can_have_a_table(uri: str) -> None:
    assert S3Store().unsupported_for_table(uri) is not None
    assert S3Store().unsupported_for_table("s3a://lake/a b/ü=1") is None


def test_the_settings_of_an_earlier_session_are_forgotten() -> None:
    use({"access.key": "A"})
    use_store_settings(lambda: {"spark.app.name": "orders"})
    assert s3_arguments("lake") == {}
    assert store_settings() == {}
