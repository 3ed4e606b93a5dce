from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from penstock.storage.s3 import s3_arguments, use_s3_settings

HTTP = {"endpoint": "http://127.0.0.1:9000", "path.style.access": "true"}
LOCAL = {"scheme": "http", "endpoint_override": "127.0.0.1:9000", "force_virtual_addressing": False}


@pytest.fixture(autouse=True)
def _no_settings_left() -> Iterator[None]:
    yield
    use_s3_settings({})


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
        ({**HTTP, "endpoint": "127.0.0.1:9000/", "connection.ssl.enabled": "false"}, LOCAL),
        (
            {"access.key": "A", "secret.key": " S ", "session.token": "T"},
            {"access_key": "A", "secret_key": "S", "session_token": "T"},
        ),
        ({"access.key": "A", "bucket.lake.access.key": "B", "bucket.other.access.key": "C"}, {"access_key": "B"}),
        ({"aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}, {"anonymous": True}),
    ],
)
def test_the_settings_of_s3a_are_those_of_the_python_client(
    settings: Mapping[str, str], arguments: Mapping[str, Any]
) -> None:
    use_s3_settings({f"spark.hadoop.fs.s3a.{key}": value for key, value in settings.items()})
    assert s3_arguments("lake") == arguments


def test_the_settings_of_an_earlier_session_are_forgotten() -> None:
    use_s3_settings({"spark.hadoop.fs.s3a.access.key": "A"})
    use_s3_settings({"spark.app.name": "orders"})
    assert s3_arguments("lake") == {}
