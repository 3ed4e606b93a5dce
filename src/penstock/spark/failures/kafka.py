"""What the exceptions of Kafka's client mean, by their class: before a flow starts, and while it runs."""

from __future__ import annotations

import re
from typing import Final

from penstock.errors import DefinitionError, ExternalError, PenstockError

_KAFKA: Final = "org.apache.kafka.common."
_AWAY: Final = re.compile(r"org\.apache\.kafka\.common\.errors\.(Timeout|Disconnect|Network|BrokerNotAvailable)")
_LOGIN: Final = ("SaslAuthenticationException", "UnsupportedSaslMechanismException", "IllegalSaslStateException")
_TLS: Final = ("SslAuthenticationException",)
_RIGHTS: Final = re.compile(r"\w*AuthorizationException")
_TOPIC: Final = ("UnknownTopicOrPartitionException", "InvalidTopicException")
_CLIENT: Final = (f"{_KAFKA}config.ConfigException", "javax.security.auth.login.LoginException")


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
