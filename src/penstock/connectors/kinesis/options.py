"""The options of one `format("kinesis")` read, checked: which ones work, which mean nothing here, which are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from penstock.connectors.kinesis.shards import TRIM_HORIZON
from penstock.errors import DefinitionError
from penstock.spark.sources.option import Option, check_options, taken

SUPPORTED: Final = (
    "awsAccessKey",
    "awsSecretKey",
    "awsSessionToken",
    "clientRetries",
    "endpoint",
    "endpointUrl",
    "failOnDataLoss",
    "fetchBufferSize",
    "initialPosition",
    "maxFetchDuration",
    "maxFetchRate",
    "maxRecordsPerFetch",
    "minFetchPeriod",
    "region",
    "roleArn",
    "roleExternalId",
    "roleSessionName",
    "shardFetchInterval",
    "streamARN",
    "streamName",
    "stsEndpoint",
)

# Their effect is what happens anyway: a task reads a shard, from files that are as large as what was fetched, and all
# shards are queried by the client of one process.
WITHOUT_EFFECT: Final = (
    "coalesceBinSize",
    "coalesceThresholdBlockSize",
    "reuseKinesisClient",
    "shardsPerTask",
)

_FAN_OUT: Final = "enhanced fan-out pushes records over a connection that boto3 does not have"
_POLLING: Final = "Remove it: all shards are polled, and share 2 MB/s with other readers"

# Refused unless the value is the one that switches the feature off: that, the reason, and what to do instead.
REFUSED: Final[dict[str, tuple[str, str, str]]] = {
    "consumerMode": ("polling", _FAN_OUT, _POLLING),
    "consumerName": ("", _FAN_OUT, _POLLING),
    "consumerNamePrefix": ("", _FAN_OUT, _POLLING),
    "consumerRefreshInterval": ("", _FAN_OUT, _POLLING),
    "registerConsumerTimeoutInterval": ("", _FAN_OUT, _POLLING),
    "registrationId": ("", _FAN_OUT, _POLLING),
    "requireConsumerDeregistration": ("false", _FAN_OUT, _POLLING),
    "serviceCredential": (
        "",
        "it is a service of Databricks",
        "Set roleArn, or let AWS's own chain find credentials",
    ),
}

# Whose values no error repeats.
SECRETS: Final = frozenset({"awsaccesskey", "awssecretkey", "awssessiontoken", "roleexternalid"})

LATEST: Final = "latest"
_MOST_RECORDS: Final = 10_000
_FASTEST: Final = 2.0
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ARN = re.compile(r"arn:aws[a-z-]*:kinesis:(?P<region>[a-z0-9-]+):\d{12}:stream/(?P<name>[A-Za-z0-9_.-]{1,128})")
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_URL = re.compile(r"https?://[^/\s]+/?")
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", re.IGNORECASE)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

DECLARED: Final = (
    *(Option(name, place=name == "streamName", secret=name.casefold() in SECRETS) for name in SUPPORTED),
    *taken(*WITHOUT_EFFECT),
    *(
        Option(name, refused=reason, instead=instead, harmless=harmless)
        for name, (harmless, reason, instead) in REFUSED.items()
    ),
)
"""Every option, as a connector declares it."""

_LETTERS: Final = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%f",
    "SSSSSS": "%f",
}
_PART: Final = re.compile(r"([a-zA-Z])\1*|'[^']*'|%")
_ZONE_LETTERS: Final = re.compile(r"\s*(Z+|X+|x+|z+|VV)$")
_OFFSET: Final = re.compile(r"([+-])(\d{2}):?(\d{2})")
# Those of RFC 822; other abbreviations mean one thing here and another there.
_HOURS: Final = (
    {"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4}
    | {"CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
)  # fmt: skip
_ZONED: Final = re.compile(r"(.*?)\s*([A-Za-z][A-Za-z_/]*|[+-]\d{2}:?\d{2})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to sign requests; without a key, AWS's own chain finds one. Its repr shows no secret."""

    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    role_arn: str | None = None
    role_external_id: str | None = field(default=None, repr=False)
    role_session_name: str = "penstock"
    sts_endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class KinesisOptions:
    """What to read and how fast. `streams` are names, or ARNs; times are seconds, sizes bytes, `rate` bytes a second.

    `initial_position` is `latest`, `trim_horizon`, or the milliseconds since 1970 from which on records are read.
    """

    streams: tuple[str, ...]
    region: str | None = None
    endpoint: str | None = None
    initial_position: str | int = LATEST
    max_records_per_fetch: int = _MOST_RECORDS
    rate: float = 1024 * 1024
    min_fetch_period: float = 0.4
    max_fetch_duration: float = 10.0
    fetch_buffer: int = 20 * 1024**3
    shard_fetch_interval: float = 1.0
    retries: int = 5
    fail_on_data_loss: bool = True
    credentials: Credentials = Credentials()


def parse_options(given: Mapping[str, str]) -> KinesisOptions:
    """Returns the options of a read; their names are compared without regard to case.

    Raises:
        DefinitionError: SOURCE_OPTION_UNKNOWN, SOURCE_OPTION_REFUSED, KINESIS_MISSING_OPTION,
            KINESIS_INVALID_OPTION.
    """
    check_options("kinesis", DECLARED, given)
    read = _Reader({name.casefold(): value.strip() for name, value in given.items()})
    streams, region = _streams(read)
    return KinesisOptions(
        streams=streams,
        region=read.matching("region", _REGION, "the name of a region, such as eu-central-1") or region,
        endpoint=read.matching("endpointUrl", _URL, "a URL without a path")
        or read.matching("endpoint", _URL, "a URL without a path"),
        initial_position=_initial_position(read),
        max_records_per_fetch=int(read.number("maxRecordsPerFetch", _MOST_RECORDS, least=1, most=_MOST_RECORDS)),
        rate=1024 * 1024 * read.number("maxFetchRate", 1.0, least=0.001, most=_FASTEST, whole=False),
        min_fetch_period=read.seconds("minFetchPeriod", 0.4),
        max_fetch_duration=read.seconds("maxFetchDuration", 10.0),
        fetch_buffer=read.size("fetchBufferSize", 20 * 1024**3),
        shard_fetch_interval=read.seconds("shardFetchInterval", 1.0),
        retries=int(read.number("clientRetries", 5, least=0, most=100)),
        fail_on_data_loss=read.flag("failOnDataLoss", default=True),
        credentials=_credentials(read),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    given: Mapping[str, str]

    def text(self, option: str) -> str | None:
        return self.given.get(option.casefold()) or None

    def invalid(self, option: str, expected: str) -> DefinitionError:
        secret = option.casefold() in SECRETS
        value = "…" if secret else self.text(option) or ""
        return DefinitionError("KINESIS_INVALID_OPTION", option=option, value=value, expected=expected)

    def matching(self, option: str, pattern: re.Pattern[str], expected: str) -> str | None:
        value = self.text(option)
        if value is not None and pattern.fullmatch(value) is None:
            raise self.invalid(option, expected)
        return value

    def number(self, option: str, default: float, *, least: float, most: float, whole: bool = True) -> float:
        value = self.text(option)
        if value is None:
            return default
        try:
            number = int(value) if whole else float(value)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            kind = "a whole number" if whole else "a number"
            raise self.invalid(option, f"{kind} from {least} to {most}")
        return number

    def seconds(self, option: str, default: float) -> float:
        value = self.text(option)
        if value is None:
            return default
        match = _DURATION.fullmatch(value)
        if match is None:
            raise self.invalid(option, "a duration such as 400ms or 10s")
        return float(match[1]) * _UNITS[match[2].lower()]

    def size(self, option: str, default: int) -> int:
        value = self.text(option)
        if value is None:
            return default
        match = _SIZE.fullmatch(value)
        if match is None or int(match[1]) == 0:
            raise self.invalid(option, "a size such as 20gb or 64m")
        return int(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ")

    def flag(self, option: str, *, default: bool) -> bool:
        value = (self.text(option) or str(default)).casefold()
        if value not in {"true", "false"}:
            raise self.invalid(option, "true or false")
        return value == "true"


def _streams(read: _Reader) -> tuple[tuple[str, ...], str | None]:
    """The streams to read, and the region that their ARNs name."""
    named, arns = read.text("streamName"), read.text("streamARN")
    if named is None and arns is None:
        example = ".option('streamName', 'orders')"
        raise DefinitionError("KINESIS_MISSING_OPTION", option="streamName", example=example)
    if named is not None and arns is not None:
        raise read.invalid("streamARN", "left out where streamName is given")
    option, pattern, expected = (
        ("streamName", _NAME, "names of streams, separated by commas")
        if arns is None
        else ("streamARN", _ARN, "ARNs of streams, separated by commas")
    )
    found = tuple(dict.fromkeys(part.strip() for part in (named or arns or "").split(",") if part.strip()))
    matches = [pattern.fullmatch(each) for each in found]
    if not found or not all(matches):
        raise read.invalid(option, expected)
    regions = {match["region"] for match in matches if match and arns is not None}
    if len(regions) > 1:
        raise read.invalid(option, "ARNs of one region")
    shown = [stream_name(each) for each in found]
    if len(set(shown)) < len(shown):
        raise read.invalid(option, "streams of different names: the column 'stream' could not distinguish them")
    return found, next(iter(regions), None)


def stream_name(stream: str) -> str:
    """Returns the name of a stream that is given by its name or its ARN."""
    return stream.rpartition("/")[2]


def _credentials(read: _Reader) -> Credentials:
    key, secret = read.text("awsAccessKey"), read.text("awsSecretKey")
    for option, value, other in (("awsSecretKey", secret, key), ("awsAccessKey", key, secret)):
        if value is None and (other is not None or read.text("awsSessionToken") is not None):
            example = f".option('{option}', dbutils.secrets.get('aws', '…'))"
            raise DefinitionError("KINESIS_MISSING_OPTION", option=option, example=example)
    role = read.text("roleArn")
    for option in ("roleExternalId", "roleSessionName", "stsEndpoint"):
        if role is None and read.text(option) is not None:
            example = ".option('roleArn', 'arn:aws:iam::123456789012:role/reader')"
            raise DefinitionError("KINESIS_MISSING_OPTION", option="roleArn", example=example)
    return Credentials(
        access_key=key,
        secret_key=secret,
        session_token=read.text("awsSessionToken"),
        role_arn=role,
        role_external_id=read.text("roleExternalId"),
        role_session_name=read.text("roleSessionName") or "penstock",
        sts_endpoint=read.matching("stsEndpoint", _URL, "a URL without a path"),
    )


def _initial_position(read: _Reader) -> str | int:
    option, expected = (
        "initialPosition",
        'latest, trim_horizon, earliest or {"at_timestamp": "11/23/2026 08:00:00 UTC"}',
    )
    value = read.text(option) or LATEST
    match value.casefold():
        case "latest":
            return LATEST
        case "trim_horizon" | "earliest":
            return TRIM_HORIZON
    try:
        document = json.loads(value)
    except ValueError:
        document = None
    at = {str(key).casefold(): str(each) for key, each in document.items()} if isinstance(document, dict) else {}
    if "at_timestamp" not in at or not at.keys() <= {"at_timestamp", "format"}:
        raise read.invalid(option, expected)
    pattern = at.get("format", "MM/dd/yyyy HH:mm:ss ZZZ")
    found = read_time(at["at_timestamp"], pattern)
    if found is None:
        raise read.invalid(option, f"a time that its format '{pattern}' can read, with a time zone")
    if found > datetime.now(UTC):
        raise read.invalid(option, "a time that has passed")
    return int(found.timestamp() * 1000)


def read_time(text: str, pattern: str) -> datetime | None:
    """Returns the time that `text` gives in `pattern`; None when it does not fit, or has no zone."""
    zone_letters = _ZONE_LETTERS.search(pattern)
    found = _ZONED.fullmatch(text.strip())
    if zone_letters is None or found is None:
        return None
    zone = _zone(found[2])
    try:
        form = _PART.sub(_directive, pattern[: zone_letters.start()])
        return None if zone is None else datetime.strptime(found[1], form).replace(tzinfo=zone)
    except (KeyError, ValueError):
        return None


def _directive(part: re.Match[str]) -> str:
    if part[0].startswith("'"):
        return part[0][1:-1].replace("%", "%%") or "'"
    return "%%" if part[0] == "%" else _LETTERS[part[0]]


def _zone(text: str) -> tzinfo | None:
    if offset := _OFFSET.fullmatch(text):
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-span if offset[1] == "-" else span)
    hours = _HOURS.get(text.upper())
    if hours is not None:
        return timezone(timedelta(hours=hours)) if hours else UTC
    try:
        return ZoneInfo(text)
    except (OSError, ValueError, KeyError):
        return None
