"""The connection string of an event hub or its namespace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from penstock.errors import DefinitionError

_KAFKA_PORT: Final = 9093
_ENDPOINT: Final = re.compile(r"(?:sb|amqps)://(?P<host>[^/:]+)(?::(?P<port>\d+))?/?", re.IGNORECASE)
_LOGIN: Final = ("SharedAccessKeyName", "SharedAccessKey")
_SIGNATURE: Final = "SharedAccessSignature"


@dataclass(frozen=True, slots=True, repr=False)
class ConnectionString:
    """What a connection string says; `text` is all of it, the password of the login. No repr shows any of it.

    `server` is `host:port` of the Kafka endpoint, `hub` the event hub that `EntityPath` names, if it does.
    """

    text: str
    server: str
    hub: str | None

    @classmethod
    def parse(cls, text: str) -> ConnectionString:
        """Reads `Endpoint=sb://…/;SharedAccessKeyName=…;SharedAccessKey=…`, perhaps with `;EntityPath=…`.

        The port is that of Kafka, 9093, unless the endpoint names one.

        Raises:
            DefinitionError: EVENT_HUBS_CONNECTION_STRING_INVALID, which does not quote it.
        """
        text = text.strip()
        parts = dict(part.strip().partition("=")[::2] for part in text.split(";") if part.strip())
        known = {key.casefold(): value for key, value in parts.items()}
        endpoint = _ENDPOINT.fullmatch(known.get("endpoint", ""))
        if endpoint is None:
            raise _invalid("it has no 'Endpoint=sb://NAMESPACE.servicebus.windows.net/'")
        if _SIGNATURE.casefold() not in known:
            for key in _LOGIN:
                if not known.get(key.casefold()):
                    raise _invalid(f"it has no '{key}'")
        server = f"{endpoint['host']}:{endpoint['port'] or _KAFKA_PORT}"
        return cls(text, server, known.get("entitypath") or None)


def _invalid(reason: str) -> DefinitionError:
    return DefinitionError("EVENT_HUBS_CONNECTION_STRING_INVALID", reason=reason)
