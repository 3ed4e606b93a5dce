"""Sends a message to a destination, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from penstock.alerts.command import run_command
from penstock.alerts.email import send_email
from penstock.alerts.message import Message, NotDelivered
from penstock.alerts.webhook import send_webhook
from penstock.config import Command, Destination, Email, Webhook
from penstock.errors import ConfigError, ExternalError, PenstockError

Send = Callable[[Destination, Message], None]


def send(destination: Destination, message: Message) -> None:
    """Tries once.

    Raises:
        NotDelivered, ConfigError: the destination did not take the message.
    """
    match destination.way:
        case Webhook() as webhook:
            send_webhook(destination.name, webhook, message)
        case Email() as email:
            send_email(destination.name, email, message)
        case Command() as command:
            run_command(destination.name, command, message)
        case _:
            assert_never(destination.way)


def failure(destination: Destination, error: Exception, redacted: Callable[[str], str]) -> PenstockError:
    """Returns what is reported about a message that was not taken, without secrets."""
    if isinstance(error, NotDelivered):
        reported: PenstockError = ExternalError(
            "ALERT_NOT_DELIVERED", destination=destination.name, reason=f"{error.reason}."
        )
    elif isinstance(error, ConfigError):
        reported = error
    else:  # a bug must not end the thread that sends: it is reported like a failure
        reported = ExternalError("ALERT_NOT_DELIVERED", destination=destination.name, reason=f"{type(error).__name__}.")
    reported.redact(redacted)
    return reported


def may_pass(error: BaseException | None) -> bool:
    """Whether the same message may be taken a moment later, without anybody changing anything."""
    return isinstance(error, NotDelivered) and error.passing
