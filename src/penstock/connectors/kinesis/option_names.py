"""Every option of `format("kinesis")` by name: which ones work, which ones mean nothing here, which are refused."""

from __future__ import annotations

from typing import Final

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
