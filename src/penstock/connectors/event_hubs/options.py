"""The options of the Event Hubs connector, the connection string among them, and what each means to Kafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from penstock.connectors.event_hubs.positions import starting_options
from penstock.connectors.kafka.connector import CLIENT
from penstock.connectors.kafka.connector import REFUSED as REFUSED_BY_KAFKA
from penstock.errors import DefinitionError
from penstock.spark.sources.option import Option, plain_options, refused, taken
from penstock.spark.sources.stream_read import StreamRead

_CONNECTION: Final = "eventhubs.connectionString"
_HUB: Final = "eventhubs.name"
_GROUP: Final = "eventhubs.consumerGroup"
_OPERATION: Final = "eventhubs.operationTimeout"
_LIMITS: Final = ("maxEventsPerTrigger", "eventhubs.maxEventsPerTrigger")
_STARTS: Final = ("eventhubs.startingPosition", "eventhubs.startingPositions")

OPTIONS: Final = (_CONNECTION, _HUB, _GROUP, *_STARTS, *_LIMITS)
"""What is translated. `kafka.…` goes to Kafka's client, as a few options of its source do."""

SHARED: Final = ("failOnDataLoss", "maxTriggerDelay", "minOffsetsPerTrigger", "minPartitions", "maxRecordsPerPartition")
"""The options of the Kafka source that are taken as they are."""

WITHOUT_EFFECT: Final = (
    "eventhubs.prefetchCount",
    "eventhubs.threadPoolSize",
    "eventhubs.useExclusiveReceiver",
    "eventhubs.slowPartitionAdjustment",
    "eventhubs.maxAcceptableBatchReceiveTime",
    "eventhubs.partitionPreferredLocationStrategy",
    "eventhubs.DynamicPartitionDiscovery",
)
"""They tune receivers that a Kafka client does not have, and change no row."""

_RATES: Final = ("Kafka's source limits a batch, not a partition", "Set 'maxEventsPerTrigger'")
_END: Final = ("a stream has no end", "Remove it; 'penstock run --batch' reads what is there now")
_TIMEOUT: Final = ("it is a setting of AMQP", "Set 'kafka.request.timeout.ms', in milliseconds")
_PLUGIN: Final = (
    "plugins are classes of the AMQP connector",
    "Remove it; 'penstock status' and the event log have the numbers",
)
_AAD: Final = (
    "the login of Microsoft Entra needs a class of your own",
    "Read format('kafka') with kafka.sasl.mechanism OAUTHBEARER and your kafka.sasl.login.callback.handler.class",
)
REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "eventhubs.endingPosition": _END,
    "eventhubs.endingPositions": _END,
    "eventhubs.maxRatePerPartition": _RATES,
    "eventhubs.maxRatesPerPartition": _RATES,
    "eventhubs.metricPlugin": _PLUGIN,
    "eventhubs.throttlingStatusPlugin": _PLUGIN,
    "eventhubs.receiverTimeout": _TIMEOUT,
    _OPERATION: _TIMEOUT,
    "eventhubs.useAadAuth": _AAD,
    "eventhubs.aadAuthCallback": _AAD,
    "eventhubs.aadAuthCallbackParams": _AAD,
}
"""What is refused: the reason, and what to write."""

DECLARED: Final = (
    Option(_HUB, place=True),
    Option(_CONNECTION, secret=True),
    *taken(*(name for name in OPTIONS if name not in {_HUB, _CONNECTION}), *SHARED, *WITHOUT_EFFECT, CLIENT),
    *refused({**REFUSED, **{name: why for name, why in REFUSED_BY_KAFKA.items() if name.startswith("kafka.")}}),
)
"""Every option, as a connector declares it."""

_DEFAULTS: Final = {
    # As Microsoft recommends for Kafka clients: the service closes connections that are idle for four minutes.
    "kafka.request.timeout.ms": "60000",
    "kafka.session.timeout.ms": "30000",
    "kafka.metadata.max.age.ms": "180000",
    "kafka.connections.max.idle.ms": "180000",
}
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"

_KAFKA_PORT: Final = 9093
_ENDPOINT: Final = re.compile(r"(?:sb|amqps)://(?P<host>[^/:]+)(?::(?P<port>\d+))?/?", re.IGNORECASE)
_LOGIN: Final = ("SharedAccessKeyName", "SharedAccessKey")
_SIGNATURE: Final = "SharedAccessSignature"


def kafka_read(read: StreamRead) -> StreamRead:
    """Returns the read of Kafka that a read of `eventhubs` means; its options hold the connection string.

    Raises:
        DefinitionError: EVENT_HUBS_CONNECTION_STRING_INVALID, EVENT_HUBS_HUB_MISSING, EVENT_HUBS_POSITION_INVALID,
            SOURCE_OPTION_REFUSED for a position at which Kafka cannot begin.
    """
    connection = ConnectionString.parse(read.option(_CONNECTION) or "")
    hub = read.option(_HUB) or connection.hub
    if hub is None:
        raise DefinitionError("EVENT_HUBS_HUB_MISSING")
    options = {**_DEFAULTS, **_login(connection), "subscribe": hub, "includeHeaders": "true"}
    options |= starting_options(hub, *(read.option(name) for name in _STARTS))
    if (limit := next(filter(None, map(read.option, _LIMITS)), None)) is not None:
        options["maxOffsetsPerTrigger"] = limit
    if (group := read.option(_GROUP)) is not None and group.casefold() != "$default":
        options["groupIdPrefix"] = group
    given = {key: value for key, value in read.options.items() if _goes_on(key)}
    return StreamRead("kafka", {**options, **plain_options(given)}, name=read.name)


def _login(connection: ConnectionString) -> dict[str, str]:
    password = connection.text.replace("\\", "\\\\").replace('"', '\\"')
    return {
        "kafka.bootstrap.servers": connection.server,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{_MODULE} required username="$ConnectionString" password="{password}";',
    }


def _goes_on(option: str) -> bool:
    return option.casefold().startswith("kafka.") or option.casefold() in {each.casefold() for each in SHARED}


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
