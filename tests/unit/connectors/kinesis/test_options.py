"""What the options of `format("kinesis")` mean, and which are refused."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from penstock.connectors.kinesis import options
from penstock.connectors.kinesis.options import LATEST, Credentials, KinesisOptions, parse_options, read_time
from penstock.connectors.kinesis.shards import TRIM_HORIZON
from penstock.errors import DefinitionError

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"


def parsed(**given: str) -> KinesisOptions:
    return parse_options({"streamName": "orders"} | given)


def test_defaults_are_those_of_databricks() -> None:
    assert parsed() == KinesisOptions(("orders",), None, None, LATEST, 10_000, 2**20, 0.4, 10.0, 20 * 2**30, 1.0, 5)


@pytest.mark.parametrize(
    ("option", "value", "field", "expected"),
    [
        ("streamname", "a, b ,c", "streams", ("a", "b", "c")),
        ("REGION", "eu-central-1", "region", "eu-central-1"),
        ("endpoint", "https://vpce.example.org", "endpoint", "https://vpce.example.org"),
        ("endpointUrl", "http://127.0.0.1:5000/", "endpoint", "http://127.0.0.1:5000/"),
        ("initialPosition", "EARLIEST", "initial_position", TRIM_HORIZON),
        ("initialPosition", "trim_horizon", "initial_position", TRIM_HORIZON),
        ("initialPosition", "latest", "initial_position", LATEST),
        ("initialPosition", '{"at_timestamp": "01/02/2026 00:00:00 UTC"}', "initial_position", 1767312000000),
        ("maxRecordsPerFetch", "500", "max_records_per_fetch", 500),
        ("maxFetchRate", "0.5", "rate", 2**19),
        ("minFetchPeriod", "1s", "min_fetch_period", 1.0),
        ("maxFetchDuration", "500 ms", "max_fetch_duration", 0.5),
        ("fetchBufferSize", "2gb", "fetch_buffer", 2 * 2**30),
        ("shardFetchInterval", "5m", "shard_fetch_interval", 300.0),
        ("clientRetries", "0", "retries", 0),
        ("failOnDataLoss", "False", "fail_on_data_loss", False),
        ("shardsPerTask", "5", "streams", ("orders",)),
        ("consumerMode", "polling", "streams", ("orders",)),
    ],
)
def test_each_option(option: str, value: str, field: str, expected: object) -> None:
    given = {"streamName": "orders"} if option != "streamname" else {}
    assert getattr(parse_options(given | {option: value}), field) == expected


def test_credentials_are_not_shown() -> None:
    options = parsed(
        awsAccessKey="AKIA1", awsSecretKey="s3cret", awsSessionToken="t0ken", roleArn="r", roleExternalId="x7"
    )
    assert options.credentials == Credentials("AKIA1", "s3cret", "t0ken", "r", "x7")
    assert [word for word in ("AKIA1", "s3cret", "t0ken", "x7") if word in repr(options)] == []
    assert pickle.loads(pickle.dumps(options)) == options


def test_streams_by_their_arns() -> None:
    options = parse_options({"streamARN": ARN})
    assert (options.streams, options.region) == ((ARN,), "eu-west-1")


@pytest.mark.parametrize(
    ("given", "condition", "option"),
    [
        ({}, "KINESIS_MISSING_OPTION", "streamName"),
        ({"streamName": " , "}, "KINESIS_INVALID_OPTION", "streamName"),
        ({"streamName": "a b"}, "KINESIS_INVALID_OPTION", "streamName"),
        ({"streamARN": "orders"}, "KINESIS_INVALID_OPTION", "streamARN"),
        ({"streamARN": f"{ARN},{ARN.replace('west', 'north')}"}, "KINESIS_INVALID_OPTION", "streamARN"),
        ({"streamARN": f"{ARN},{ARN.replace('1234', '4321')}"}, "KINESIS_INVALID_OPTION", "streamARN"),
        ({"streamName": "s", "streamARN": ARN}, "KINESIS_INVALID_OPTION", "streamARN"),
        ({"streamName": "s", "region": "Frankfurt"}, "KINESIS_INVALID_OPTION", "region"),
        ({"streamName": "s", "endpointUrl": "kinesis"}, "KINESIS_INVALID_OPTION", "endpointUrl"),
        ({"streamName": "s", "initialPosition": "newest"}, "KINESIS_INVALID_OPTION", "initialPosition"),
        ({"streamName": "s", "initialPosition": '{"at": "1"}'}, "KINESIS_INVALID_OPTION", "initialPosition"),
        ({"streamName": "s", "initialPosition": "[1]"}, "KINESIS_INVALID_OPTION", "initialPosition"),
        (
            {"streamName": "s", "initialPosition": '{"at_timestamp": "01/02/2999 00:00:00 UTC"}'},
            "KINESIS_INVALID_OPTION",
            "initialPosition",
        ),
        ({"streamName": "s", "maxFetchRate": "2.5"}, "KINESIS_INVALID_OPTION", "maxFetchRate"),
        ({"streamName": "s", "maxFetchRate": "nan"}, "KINESIS_INVALID_OPTION", "maxFetchRate"),
        ({"streamName": "s", "maxRecordsPerFetch": "10001"}, "KINESIS_INVALID_OPTION", "maxRecordsPerFetch"),
        ({"streamName": "s", "minFetchPeriod": "fast"}, "KINESIS_INVALID_OPTION", "minFetchPeriod"),
        ({"streamName": "s", "fetchBufferSize": "0"}, "KINESIS_INVALID_OPTION", "fetchBufferSize"),
        ({"streamName": "s", "failOnDataLoss": "no"}, "KINESIS_INVALID_OPTION", "failOnDataLoss"),
        ({"streamName": "s", "awsAccessKey": "a"}, "KINESIS_MISSING_OPTION", "awsSecretKey"),
        ({"streamName": "s", "awsSecretKey": "a"}, "KINESIS_MISSING_OPTION", "awsAccessKey"),
        ({"streamName": "s", "roleExternalId": "a"}, "KINESIS_MISSING_OPTION", "roleArn"),
        ({"streamName": "s", "maxRecordPerFetch": "1"}, "SOURCE_OPTION_UNKNOWN", "maxRecordPerFetch"),
        ({"streamName": "s", "CONSUMERMODE": "EFO"}, "SOURCE_OPTION_REFUSED", "consumerMode"),
    ],
)
def test_what_cannot_be(given: dict[str, str], condition: str, option: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parse_options(given)
    assert (refused.value.condition, refused.value.facts["option"]) == (condition, option)


@pytest.mark.parametrize("option", options.REFUSED)
def test_refused_options(option: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parsed(**{option: "something"})
    assert refused.value.condition == "SOURCE_OPTION_REFUSED"
    assert option in refused.value.message


@pytest.mark.parametrize("option", options.WITHOUT_EFFECT)
def test_options_without_effect(option: str) -> None:
    assert parsed(**{option: "1"}) == parsed()


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("06/25/2020 10:23:45 PDT", "MM/dd/yyyy HH:mm:ss ZZZ", datetime(2020, 6, 25, 17, 23, 45, tzinfo=UTC)),
        ("2020-06-25T10:23:45.5+02:00", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", datetime(2020, 6, 25, 8, 23, 45, 500000, UTC)),
        ("2020-06-25 10:23 Europe/Berlin", "yyyy-MM-dd HH:mm VV", datetime(2020, 6, 25, 8, 23, tzinfo=UTC)),
        ("06/25/2020 10:23:45", "MM/dd/yyyy HH:mm:ss", None),
        ("06/25/2020 10:23:45 XYZ", "MM/dd/yyyy HH:mm:ss ZZZ", None),
        ("2020-06-25 UTC", "MM/dd/yyyy ZZZ", None),
        ("Thu 2020 UTC", "EEE yyyy z", None),
    ],
)
def test_times(text: str, pattern: str, expected: datetime | None) -> None:
    assert read_time(text, pattern) == expected
