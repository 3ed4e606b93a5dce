"""The calls to Kinesis: signed, tried again where that helps, and failing under a condition of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_after_delay, wait_random_exponential

from penstock.connectors.kinesis.options import Credentials, KinesisOptions, stream_name
from penstock.errors import did_you_mean
from penstock.spark.failures.python_sources import SourceFailure
from penstock.storage.stores.tls_refusals import is_tls_refusal

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from botocore.session import Session

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 20.0
_LONGEST_RETRIES: Final = 60.0
_LONGEST_DETAIL: Final = 300
CLOCK_STEP_MS: Final = 1000
"""The service gives its time in seconds."""

_THROTTLED: Final = frozenset(
    {
        "KMSThrottlingException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
    }
)
_REFUSED: Final = (
    "AccessDenied",
    "AuthFailure",
    "ExpiredToken",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSignature",
    "KMS",
    "MissingAuthenticationToken",
    "OptInRequired",
    "SignatureDoesNotMatch",
    "UnrecognizedClient",
)
"""How the codes of AWS begin that say who may do what; waiting does not help."""


class ExpiredIterator(Exception):
    """A shard iterator is older than five minutes: another one goes on where it stood."""


class ShardGone(Exception):
    """The stream has no such shard any more."""


class PositionGone(Exception):
    """The stream has never had such a sequence number: there is another stream of its name now."""


@dataclass(slots=True)
class KinesisClient:
    """Kinesis as one reader sees it. Safe for threads; made in the process that uses it, because it cannot be pickled.

    Each call may raise `SourceFailure`; `now` is the time of the service, as of its newest answer.
    """

    options: KinesisOptions
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    _boto: Any = None

    @classmethod
    def connect(cls, options: KinesisOptions) -> KinesisClient:
        """Returns a client; nothing is sent yet.

        Raises:
            SourceFailure: KINESIS_NOT_INSTALLED, KINESIS_MISSING_OPTION (region), KINESIS_INVALID_OPTION.
        """
        return cls(options, _boto=_boto_client(options))

    @property
    def endpoint(self) -> str:
        """The URL of the service."""
        return str(self._boto.meta.endpoint_url)

    def describe(self, stream: str) -> Mapping[str, Any] | None:
        """Returns the summary of a stream, with its retention and its creation; None when that is not allowed."""
        try:
            answer = self._call("describe_stream_summary", stream)
        except SourceFailure as failure:
            if failure.condition == "KINESIS_ACCESS_DENIED":
                return None
            raise
        summary: Mapping[str, Any] = answer["StreamDescriptionSummary"]
        return summary

    def shards(self, stream: str) -> list[Mapping[str, Any]]:
        """Returns all shards that a stream keeps, open and closed ones."""
        answer = self._call("list_shards", stream)
        found: list[Mapping[str, Any]] = list(answer["Shards"])
        while token := answer.get("NextToken"):
            answer = self._call("list_shards", stream, continues=True, NextToken=token)
            found += answer["Shards"]
        return found

    def iterator(self, stream: str, shard: str, **position: Any) -> str:
        """Returns an iterator of a shard; `position` is what GetShardIterator takes.

        Raises:
            ShardGone: there is no such shard.
            PositionGone: the position is of another stream.
        """
        answer = self._call("get_shard_iterator", stream, ShardId=shard, **position)
        return str(answer["ShardIterator"])

    def records(self, stream: str, iterator: str) -> Mapping[str, Any]:
        """Returns the answer of GetRecords.

        Raises:
            ExpiredIterator: ask for another one.
        """
        found: Mapping[str, Any] = self._call(
            "get_records", stream, continues=True, ShardIterator=iterator, Limit=self.options.max_records_per_fetch
        )
        return found

    def _call(self, operation: str, stream: str, *, continues: bool = False, **arguments: Any) -> dict[str, Any]:
        if not continues:  # an iterator, or the token of a next page, names the stream already
            arguments["StreamARN" if stream.startswith("arn:") else "StreamName"] = stream
        retrying = Retrying(
            retry=retry_if_exception(_passes),
            wait=wait_random_exponential(multiplier=0.2, max=10.0),
            stop=stop_after_attempt(1 + self.options.retries) | stop_after_delay(_LONGEST_RETRIES),
            reraise=True,
        )
        try:
            answer: dict[str, Any] = retrying(partial(getattr(self._boto, operation), **arguments))
        except Exception as error:
            code = _code(error)
            if code == "ExpiredIteratorException":
                raise ExpiredIterator from error
            if code == "ResourceNotFoundException" and "ShardId" in arguments:
                raise ShardGone(arguments["ShardId"]) from error
            if code == "InvalidArgumentException" and "StartingSequenceNumber" in arguments:
                raise PositionGone(arguments["StartingSequenceNumber"]) from error
            raise self._failure(error, stream_name(stream)) from error
        date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        self.now = parsedate_to_datetime(date) if date else datetime.now(UTC)
        return answer

    def _failure(self, error: Exception, stream: str) -> SourceFailure:
        from botocore.exceptions import BotoCoreError, ClientError

        code, detail = _code(error), _first_line(error)
        if isinstance(error, ClientError):
            detail = _shortened(f"{code}: {error.response.get('Error', {}).get('Message') or detail}")
        if code == "ResourceNotFoundException":
            where = f"{self._boto.meta.region_name} ({self.endpoint})"
            return SourceFailure("KINESIS_STREAM_NOT_FOUND", stream=stream, where=where)
        if _is_about_credentials(error) or (code.startswith(_REFUSED) and code not in _THROTTLED):
            return SourceFailure("KINESIS_ACCESS_DENIED", stream=stream, detail=detail)
        if _is_about_tls(error):
            return SourceFailure("KINESIS_TLS_FAILED", endpoint=self.endpoint, detail=detail)
        if isinstance(error, BotoCoreError | OSError):
            suggestion = "" if self.options.endpoint else _region_hint(str(self._boto.meta.region_name))
            return SourceFailure("KINESIS_UNREACHABLE", endpoint=self.endpoint, detail=detail, suggestion=suggestion)
        return SourceFailure("KINESIS_REQUEST_FAILED", stream=stream, detail=detail)


def _boto_client(options: KinesisOptions) -> BaseClient:
    try:
        import botocore.session
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, NoRegionError
    except ImportError:
        raise SourceFailure("KINESIS_NOT_INSTALLED") from None
    # `_call` tries again, so that all retries are counted by one rule.
    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=64,
    )
    try:
        session = botocore.session.get_session()
        sign_with(session, options.credentials, options.region)
        return session.create_client(
            "kinesis", region_name=options.region, endpoint_url=options.endpoint, config=config
        )
    except NoRegionError:
        example = ".option('region', 'eu-central-1')"
        raise SourceFailure("KINESIS_MISSING_OPTION", option="region", example=example) from None
    except BotoCoreError as error:
        stream = stream_name(options.streams[0])
        if _is_about_credentials(error):
            raise SourceFailure("KINESIS_ACCESS_DENIED", stream=stream, detail=_first_line(error)) from error
        value, expected = options.region or "", f"what the AWS client accepts: {_first_line(error)}"
        raise SourceFailure("KINESIS_INVALID_OPTION", option="region", value=value, expected=expected) from error


def sign_with(session: Session, credentials: Credentials, region: str | None) -> None:
    """Makes `session` sign with these credentials; a role's are fetched at the first call, and again when they end."""
    if credentials.access_key is not None and credentials.secret_key is not None:
        session.set_credentials(credentials.access_key, credentials.secret_key, credentials.session_token)
    if credentials.role_arn is None:
        return
    from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
    from botocore.exceptions import NoCredentialsError

    extra = {"RoleSessionName": credentials.role_session_name}
    if credentials.role_external_id is not None:
        extra["ExternalId"] = credentials.role_external_id

    def client(service: str, **given: Any) -> BaseClient:
        return session.create_client(
            service, **{"region_name": region, "endpoint_url": credentials.sts_endpoint, **given}
        )

    source = session.get_credentials()
    if source is None:
        raise NoCredentialsError
    fetcher = AssumeRoleCredentialFetcher(
        client_creator=client,
        source_credentials=source,
        role_arn=credentials.role_arn,
        extra_args=extra,
    )
    fetch: Callable[[], Any] = fetcher.fetch_credentials
    # botocore takes a role from its own configuration only
    session._credentials = DeferredRefreshableCredentials(  # type: ignore[attr-defined]
        method="assume-role", refresh_using=fetch
    )


def _region_hint(region: str) -> str:
    """Words for a region that the AWS client does not know; none for one that it does."""
    import botocore.session

    session = botocore.session.get_session()
    known = [
        name
        for partition in session.get_available_partitions()
        for name in session.get_available_regions("kinesis", partition)
    ]
    return "" if region in known else did_you_mean(region, known, also=f"No region '{region}' is known.")


def _passes(error: BaseException) -> bool:
    """Whether the same call may succeed in a while."""
    from botocore.exceptions import BotoCoreError, ClientError

    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return _code(error) in _THROTTLED or status >= 500
    is_connection = isinstance(error, BotoCoreError | OSError)
    return is_connection and not _is_about_credentials(error) and not _is_about_tls(error)


def _is_about_tls(error: BaseException) -> bool:
    """Not a connection that broke off while it was made, which is an SSLError too."""
    from botocore.exceptions import SSLError

    return isinstance(error, SSLError) and is_tls_refusal(str(error))


def _is_about_credentials(error: BaseException) -> bool:
    from botocore import exceptions as known

    kinds = (
        known.NoCredentialsError,
        known.PartialCredentialsError,
        known.CredentialRetrievalError,
        known.TokenRetrievalError,
        known.SSOError,
        known.ProfileNotFound,
    )
    return isinstance(error, kinds)


def _code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def _first_line(error: BaseException) -> str:
    return _shortened((str(error).strip().splitlines() or [type(error).__name__])[0])


def _shortened(text: str) -> str:
    text = text.splitlines()[0].rstrip(".")
    return text if len(text) <= _LONGEST_DETAIL else f"{text[: _LONGEST_DETAIL - 1]}…"
