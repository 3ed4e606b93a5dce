"""A mail, over a connection that STARTTLS encrypts."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate
from typing import Final

from penstock.alerts.address import addresses_of, is_loopback, refusal
from penstock.alerts.message import Message, NotDelivered
from penstock.config import Email
from penstock.errors import ConfigError

TIMEOUT_SECONDS: Final = 15.0


def send_email(name: str, email: Email, message: Message, *, timeout: float = TIMEOUT_SECONDS) -> None:
    """Hands the message to the mail server once. Without STARTTLS nothing is sent, unless to this machine if allowed.

    Raises:
        NotDelivered: the server did not answer, or refused.
        ConfigError: ALERT_ADDRESS_REFUSED, SECRET_NOT_FOUND.
    """
    password = None if email.password is None else email.password.resolve()
    try:
        addresses = addresses_of(email.host, email.port)
        for address in addresses:
            if (reason := refusal(address)) is not None:
                raise ConfigError("ALERT_ADDRESS_REFUSED", destination=name, address=address, reason=reason)
        plain = email.allow_loopback_plain and all(is_loopback(address) for address in addresses)
        with smtplib.SMTP(email.host, email.port, timeout=timeout) as server:
            if not plain or server.has_extn("starttls"):
                server.starttls(context=ssl.create_default_context(cafile=email.ca_file))
            if email.username is not None:
                server.login(email.username, password or "")
            server.send_message(_mail(email, message))
    except smtplib.SMTPNotSupportedError:
        raise NotDelivered("it offers no STARTTLS, or no login that is understood", passing=False) from None
    except smtplib.SMTPAuthenticationError:
        raise NotDelivered("it refused the username and the password", passing=False) from None
    except smtplib.SMTPResponseException as error:
        raise NotDelivered(f"it answered {error.smtp_code}", passing=error.smtp_code < 500) from None
    except smtplib.SMTPException as error:
        raise NotDelivered(f"it refused the mail ({type(error).__name__})", passing=True) from None
    except ssl.SSLCertVerificationError as error:
        raise NotDelivered(f"its certificate is not trusted ({error.verify_message})", passing=False) from None
    except OSError as error:
        reason = "it did not answer in time" if isinstance(error, TimeoutError) else error.strerror
        raise NotDelivered(reason or type(error).__name__, passing=True) from None


def _mail(email: Email, message: Message) -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = email.sender
    mail["To"] = ", ".join(email.to)
    mail["Subject"] = message.subject
    mail["Date"] = formatdate(localtime=False)
    mail["Message-ID"] = f"<{message.id}@penstock>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text() + f"\n\nSent by penstock on {message.host}.\n")
    return mail
