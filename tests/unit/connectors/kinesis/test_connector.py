"""What is wrong before anything was asked of Kinesis, and what its client says."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, SSLError

from penstock.connectors.kinesis.client import KinesisClient
from penstock.connectors.kinesis.connector import check_streams, checked_options
from penstock.connectors.kinesis.options import parse_options
from penstock.errors import PenstockError
from penstock.spark.failures.python_sources import SourceFailure
from penstock.spark.sources.stream_read import StreamRead


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@cache
def client(region: str, retries: int = 0) -> KinesisClient:
    given = {"streamName": "orders", "awsAccessKey": "a", "awsSecretKey": "b", "region": region}
    return KinesisClient.connect(parse_options(given | {"clientRetries": str(retries)}))


def failing(made: KinesisClient, error: Exception) -> SourceFailure:
    def fail(**_: Any) -> None:
        raise error

    made._boto.list_shards = fail
    with pytest.raises(SourceFailure) as failed:
        made.shards("orders")
    return failed.value


def answer(code: str, status: int = 400, message: str = "words of AWS\nand more") -> ClientError:
    told: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(told, "ListShards")


def test_the_client_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(PenstockError) as missing:
        checked_options(StreamRead("kinesis", {"streamName": "s"}))
    assert missing.value.condition == "KINESIS_NOT_INSTALLED"
    assert "pip install 'penstock[kinesis]'" in missing.value.fix


@pytest.mark.parametrize(
    ("given", "condition", "words"),
    [
        ({}, "KINESIS_MISSING_OPTION", "'region'"),
        ({"region": "eu-central-1"}, "KINESIS_ACCESS_DENIED", "Unable to locate credentials"),
        ({"region": "eu-central-1", "roleArn": "arn:aws:iam::1:role/r"}, "KINESIS_ACCESS_DENIED", "credentials"),
    ],
)
def test_what_aws_has_to_be_told(given: dict[str, str], condition: str, words: str) -> None:
    with pytest.raises(PenstockError) as wrong:
        check_streams(parse_options({"streamName": "orders"} | given))
    assert wrong.value.condition == condition
    assert words in wrong.value.message


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (answer("ResourceNotFoundException"), "KINESIS_STREAM_NOT_FOUND"),
        (answer("AccessDeniedException"), "KINESIS_ACCESS_DENIED"),
        (answer("ExpiredTokenException"), "KINESIS_ACCESS_DENIED"),
        (answer("KMSDisabledException"), "KINESIS_ACCESS_DENIED"),
        (answer("KMSThrottlingException"), "KINESIS_REQUEST_FAILED"),
        (answer("LimitExceededException"), "KINESIS_REQUEST_FAILED"),
        (answer("InternalFailure", 500), "KINESIS_REQUEST_FAILED"),
        (answer("SomethingNew"), "KINESIS_REQUEST_FAILED"),
        (EndpointConnectionError(endpoint_url="https://x"), "KINESIS_UNREACHABLE"),
        (SSLError(endpoint_url="https://x", error=OSError("certificate verify failed")), "KINESIS_TLS_FAILED"),
        (
            SSLError(endpoint_url="https://x", error=OSError("EOF occurred in violation of protocol")),
            "KINESIS_UNREACHABLE",
        ),
    ],
)
def test_each_answer_has_its_condition(error: Exception, condition: str) -> None:
    told = failing(client("eu-central-1"), error).error("d")
    assert told.condition == condition
    assert "\n" not in told.message
    assert "<" not in told.message


def test_a_region_that_nobody_knows_is_named_with_its_neighbour() -> None:
    error = EndpointConnectionError(endpoint_url="https://kinesis.eu-centrall-1.amazonaws.com/")
    told = failing(client("eu-centrall-1"), error).error()
    assert "https://kinesis.eu-centrall-1.amazonaws.com" in told.message
    assert "eu-central-1" in told.message
    assert failing(client("eu-central-1"), error).facts["suggestion"] == ""


def test_what_can_pass_is_tried_again() -> None:
    made = client("eu-central-1", 3)
    answers: list[Any] = [answer("ThrottlingException"), answer("InternalFailure", 503), {"Shards": []}]

    def list_shards(**_: Any) -> Any:
        told = answers.pop(0)
        if isinstance(told, Exception):
            raise told
        return told

    made._boto.list_shards = list_shards
    assert made.shards("orders") == []
    assert answers == []
