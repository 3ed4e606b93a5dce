"""What the clients of object stores say when a store refuses, as conditions of Spark's clients."""

from __future__ import annotations

import re
from typing import Final

from penstock.errors import ConfigError, ExternalError, PenstockError
from penstock.storage.stores.tls_refusals import is_tls_refusal

_NO_BUCKET: Final = re.compile(
    r"NoSuchBucket|NO_SUCH_BUCKET|PermanentRedirect|HTTP status 301|redirect without LOCATION"
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


def store_refusal(
    text: str,
    detail: str,
    *,
    no_bucket: re.Pattern[str],
    no_credentials: re.Pattern[str],
    denied: re.Pattern[str],
) -> PenstockError | None:
    """Returns what a store refuses for good, by what its clients say; None where trying again may help.

    `detail` is shown to the user; the patterns are how the clients of that store say each.
    """
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
