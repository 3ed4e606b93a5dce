"""What the clients of object stores say when a store refuses, as conditions of Spark's clients."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from penstock.errors import ConfigError, ExternalError, PenstockError
from penstock.storage.stores.settings import place_of_setting, renew_credentials
from penstock.storage.stores.tls_refusals import is_tls_refusal

T = TypeVar("T")

_REGION: Final = "spark.hadoop.fs.s3a.endpoint.region"
_EXPIRED: Final = "OBJECT_STORE_CREDENTIALS_EXPIRED"
_SAID_OF_ANY: Final = {
    _EXPIRED: re.compile(
        r"Expired-?Token|EXPIRED_TOKEN|RequestExpired|not valid in the specified time frame"
        r"|\b(?:token|SSO session|credentials?|signature)\b[^.\n]{0,60} (?:is|are|has|have) expired",
        re.IGNORECASE,
    ),
    "OBJECT_STORE_CLOCK_SKEWED": re.compile(
        r"RequestTimeTooSkewed|REQUEST_TIME_TOO_SKEWED|request time and the (?:current|server's) time is too large"
    ),
    "OBJECT_STORE_WRONG_REGION": re.compile(
        r"PermanentRedirect|permanent redirect|HTTP status 301|Status Code: 301|redirect without LOCATION"
        r"|AuthorizationHeaderMalformed|region '\S+' is wrong|bucket is located in '"
    ),
}
"""What clients of any store say, whatever the status beside it; before what the status alone means."""
_RIGHT_REGION: Final = re.compile(
    r"(?:expecting '|<Region>|located in '|redirect response to (?:region )?\[?)(?P<region>[a-z]{2}[a-z-]*-\d)"
)
_NO_BUCKET: Final = re.compile(
    r"NoSuchBucket|NO_SUCH_BUCKET"
    r"|ContainerNotFound|ContainerBeingDeleted|InvalidResourceName"
)
_NO_CREDENTIALS: Final = re.compile(
    r"169\.254\.(?:169\.254|170\.2)|fd00:ec2::254|credential(?:s)? provider|no providers? in chain|loading credentials"
    r"|NoCredentials|CredentialsNotLoaded|locate credentials",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\b40[13] (?:Forbidden|Unauthorized)|HTTP status 40[13]|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch"
    r"|AWS Error (?:ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN)"
    r"|\(40[13] |ClientAuthenticationError"  # Azure and Google
    r"|AccessControlException"  # HDFS
)
_NO_ANSWER: Final = re.compile(
    r"error sending request|curlCode|NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|\b50[0234] [A-Z]|timed out"
    r"|connect to the endpoint|Connection was closed|SSL validation failed"
    r"|\(os error 1\d\d\)|lookup address|\((?:StandbyException|SafeModeException|RetriableException)\)"  # HDFS
    r"|\((?:SlowDown|ServiceUnavailable|InternalError|50[0234])\)|\(50[0234] |\(Service(?:Request|Response)\w*Error\)",
)
_REPLY: Final = re.compile(r"<Code>(?P<code>[^<]+)</Code>\s*<Message>(?P<message>[^<]*)")
_COLOUR: Final = re.compile(r"\x1b\[\d+m")


def object_store_error(uri: str, error: BaseException) -> PenstockError | None:
    """Returns what a failure at a URI of an object store means; None for one that the store has no part in."""
    text = _COLOUR.sub("", str(error))
    detail = f"{uri}: {_words(text)}"
    refused = store_refusal(text, detail, no_bucket=_NO_BUCKET, no_credentials=_NO_CREDENTIALS, denied=_DENIED)
    if refused is None and _NO_ANSWER.search(text):
        return ExternalError("STORAGE_FAILED", detail=detail)
    return refused


def refusal_by_name(text: str, detail: str) -> PenstockError | None:
    """Returns what a store has refused by a name of its own, whichever the client; None for all others.

    After expired credentials Penstock's own clients read them again.
    """
    condition = next((name for name, said in _SAID_OF_ANY.items() if said.search(text)), None)
    if condition is None:
        return None
    if condition == _EXPIRED:
        renew_credentials()
    if condition != "OBJECT_STORE_WRONG_REGION":
        return ExternalError(condition, detail=detail)
    right = _RIGHT_REGION.search(text)
    region = right["region"] if right else "the bucket's region, which 'aws s3api head-bucket --bucket NAME' shows"
    return ConfigError(condition, location=place_of_setting(_REGION), detail=detail, region=region)


def is_expiry(text: str) -> bool:
    """Whether a store's client says that credentials have expired, which then are read again for the next request."""
    refusal = refusal_by_name(text, text)
    return refusal is not None and refusal.condition == _EXPIRED


def again_if_expired(ask: Callable[[], T]) -> T:
    """Returns what `ask` returns, which is called once more, with the renewed ones, where credentials have expired."""
    try:
        return ask()
    except ExternalError as error:
        if error.condition != _EXPIRED:
            raise
    return ask()


def store_refusal(
    text: str,
    detail: str,
    *,
    no_bucket: re.Pattern[str],
    no_credentials: re.Pattern[str],
    denied: re.Pattern[str],
) -> PenstockError | None:
    """Returns what a store refuses, by what its clients say; None where it only does not answer.

    `detail` is shown to the user; the patterns are how the clients of that store say each.
    """
    if (named := refusal_by_name(text, detail)) is not None:
        return named
    if no_bucket.search(text):
        return ConfigError("OBJECT_STORE_BUCKET_NOT_FOUND", detail=detail)
    if no_credentials.search(text):
        return ConfigError("OBJECT_STORE_CREDENTIALS_MISSING", detail=detail)
    if denied.search(text):
        return ConfigError("OBJECT_STORE_ACCESS_DENIED", detail=detail)
    if is_tls_refusal(text):
        return ConfigError("OBJECT_STORE_TLS_FAILED", detail=detail)
    return None


def _words(text: str) -> str:
    """What the store itself says, else the innermost cause."""
    if (reply := _REPLY.search(text)) is not None:
        return f"{reply['message'].strip() or 'no message'} ({reply['code']})"
    lines = [line.strip().removeprefix("↳").strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "no message")
