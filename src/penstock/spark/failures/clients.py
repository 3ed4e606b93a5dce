"""What the exceptions of clients mean: of Kafka's and S3's by their class, of Azure's and Google's by their text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from penstock.errors import ConfigError, DefinitionError, ExternalError, PenstockError
from penstock.spark.failures.store_reasons import reason_of_refusal
from penstock.storage.stores.errors import refusal_by_name, store_refusal
from penstock.storage.stores.tls_refusals import is_tls_refusal

_KAFKA: Final = "org.apache.kafka.common."
_AWAY: Final = re.compile(r"org\.apache\.kafka\.common\.errors\.(Timeout|Disconnect|Network|BrokerNotAvailable)")
_LOGIN: Final = ("SaslAuthenticationException", "UnsupportedSaslMechanismException", "IllegalSaslStateException")
_TLS: Final = ("SslAuthenticationException",)
_RIGHTS: Final = re.compile(r"\w*AuthorizationException")
_TOPIC: Final = ("UnknownTopicOrPartitionException", "InvalidTopicException")
_CLIENT: Final = (f"{_KAFKA}config.ConfigException", "javax.security.auth.login.LoginException")

_AZURE_AND_GOOGLE: Final = ("org.apache.hadoop.fs.azurebfs.", "org.apache.hadoop.fs.gs.", "com.google.cloud.hadoop.")
_NO_BUCKET: Final = re.compile(r"specified (?:filesystem|container|bucket) does not exist", re.IGNORECASE)
_NO_TOKEN: Final = re.compile(
    r"value detected for fs\.azure\.account\.key|cannot find the metadata server|default credentials were not found"
)
_DENIED: Final = re.compile(
    r"(?:response|status) code: 40[013]\b|\b40[13],|\b40[013] (?:Bad Request|Unauthorized|Forbidden)", re.IGNORECASE
)


def kafka_failure(class_name: str, message: str, root: str) -> PenstockError | None:
    """Returns what an exception of Kafka's client means to an operator; None for all others, and for what may pass.

    `root` is the message of the innermost exception behind it: of TLS, Kafka itself only says that it failed.
    """
    if class_name in _CLIENT:
        return DefinitionError("KAFKA_CLIENT_REFUSED", detail=message)
    if not class_name.startswith(f"{_KAFKA}errors."):
        return None
    kind = class_name.rpartition(".")[2]
    if kind in _LOGIN:
        return ExternalError("KAFKA_LOGIN_REFUSED", detail=message)
    if kind in _TLS:
        return ExternalError("KAFKA_TLS_FAILED", detail=root)
    if kind in _TOPIC:
        return DefinitionError("KAFKA_TOPIC_UNKNOWN", topics=message, suggestion="")
    if _RIGHTS.fullmatch(kind):
        return ExternalError("KAFKA_NOT_AUTHORIZED", detail=message)
    return None


def is_away(class_name: str) -> bool:
    """Whether an exception says that the cluster does not answer for now."""
    return _AWAY.match(class_name) is not None


def azure_or_google_failure(causes: Sequence[tuple[str, str]]) -> PenstockError | None:
    """Returns what a failure means in which a client of one of the two has a part; None for any other.

    `causes` are class name and message of each exception, outermost first.
    """
    texts = [text for name, text in causes if name.startswith(_AZURE_AND_GOOGLE)]
    if not texts:
        return None
    messages = " ".join(text for _, text in causes)
    detail = texts[-1].strip().splitlines()[0] if texts[-1].strip() else "no message"
    refused = store_refusal(messages, detail, no_bucket=_NO_BUCKET, no_credentials=_NO_TOKEN, denied=_DENIED)
    return refused or ExternalError("STORAGE_FAILED", detail=detail)


_S3A: Final = "org.apache.hadoop.fs.s3a."
_AWS_CLIENT: Final = "software.amazon.awssdk."
_NO_CREDENTIALS: Final = ("NoAuthWithAWSException", "NoAwsCredentialsException", "CredentialInitializationException")
_CHAIN: Final = " in the chain"  # after which each of its providers says at length that it has none
_REFUSED: Final = re.compile(r"software\.amazon\.awssdk\.\S+Exception|\bStatus Code: 40[13]\b")
_WITHOUT_REASON: Final = re.compile(r"\bStatus Code: 40[03]\b")
_NO_CLIENT: Final = re.compile(
    r'No FileSystem for scheme "(?P<scheme>s3a?|abfss?|wasbs?|gs)"'
    r"|Class \S*\.(?P<package>s3a|azurebfs|gs|gcs)\.\S+ not found"
)
_SCHEMES: Final = {"s3a": "s3a", "azurebfs": "abfss", "gs": "gs", "gcs": "gs"}


def object_store_failure(causes: Sequence[tuple[str, str]]) -> PenstockError | None:
    """Returns what a failure means that an object store or its missing client has caused; None for any other.

    `causes` are class name and message of each exception, outermost first.
    """
    names = [name for name, _ in causes]
    for name, message in causes:
        if (found := _NO_CLIENT.search(message)) is not None:
            scheme = found["scheme"] or _SCHEMES[found["package"]]
            return ConfigError("OBJECT_STORE_CLIENT_MISSING", scheme=scheme)
        if name == f"{_S3A}UnknownStoreException":
            return ConfigError("OBJECT_STORE_BUCKET_NOT_FOUND", detail=_words(message))
    if any(name.startswith((_S3A, _AWS_CLIENT)) or _REFUSED.search(text) for name, text in causes):
        said = " ".join(text for _, text in causes)
        words = next((text for _, text in causes if refusal_by_name(text, text) is not None), said)
        if (named := refusal_by_name(said, _words(words))) is not None:
            return named
    if any(name.rpartition(".")[2] in _NO_CREDENTIALS and name.startswith(_S3A) for name in names):
        return ConfigError("OBJECT_STORE_CREDENTIALS_MISSING", detail=_words(causes[-1][1].partition(_CHAIN)[0]))
    if refusal := next((text for name, text in causes if name.startswith(_AWS_CLIENT) and is_tls_refusal(text)), None):
        return ConfigError("OBJECT_STORE_TLS_FAILED", detail=_words(refusal))
    for name, message in causes:
        denied = name == "java.nio.file.AccessDeniedException" and _REFUSED.search(message)
        if not denied and not name.startswith(f"{_S3A}AWS"):
            continue
        if _WITHOUT_REASON.search(message):
            reason = reason_of_refusal(message)
            if (named := refusal_by_name(reason, _words(reason))) is not None:
                return named
        if denied:
            return ConfigError("OBJECT_STORE_ACCESS_DENIED", detail=_words(message))
        return ExternalError("STORAGE_FAILED", detail=_words(message))
    return azure_or_google_failure(causes)


def _words(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else "no message"
