"""The columns of the source, and records as Arrow batches of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from penstock.connectors.kinesis.aggregated import user_records

SCHEMA: Final = (
    "partitionKey STRING, data BINARY, stream STRING, shardId STRING, sequenceNumber STRING, "
    "approximateArrivalTimestamp TIMESTAMP"
)
_TYPES: Final[dict[str, pa.DataType]] = {
    "partitionKey": pa.string(),
    "data": pa.binary(),
    "stream": pa.string(),
    "shardId": pa.string(),
    "sequenceNumber": pa.string(),
    "approximateArrivalTimestamp": pa.timestamp("us", tz="UTC"),
}
ARROW_SCHEMA: Final = pa.schema(_TYPES)


def arrow_batch(
    records: Iterable[Mapping[str, Any]], stream: str, shard: str, hash_keys: tuple[int, int]
) -> pa.RecordBatch:
    """Returns records of a shard, as GetRecords gives them, as one batch; an aggregated one gives several rows."""
    keys: list[str] = []
    data: list[bytes] = []
    numbers: list[str] = []
    times: list[Any] = []
    for record in records:
        for key, content in user_records(record["PartitionKey"], record["Data"], *hash_keys):
            keys.append(key)
            data.append(content)
            numbers.append(record["SequenceNumber"])
            times.append(record.get("ApproximateArrivalTimestamp"))
    rows = len(keys)
    columns: list[list[Any]] = [keys, data, [stream] * rows, [shard] * rows, numbers, times]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)
