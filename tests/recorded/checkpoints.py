"""Makes a storage with checkpoints as Spark 4.2 writes them, with their tables and event log, in a test's own folder.

Three flows, whose sources are of three kinds; each file has the name, the form and the checksum of a real one:

    shop.raw      Auto Loader, twelve batches, the tenth step of its log compacted
    shop.topic    Kafka, four batches
    shop.hourly   reads shop.raw, keeps state in two partitions, four batches; the watermark moves

The newest batch of each table is in its Delta log, under the query's id, as Delta's streaming sink notes it.
"""

from __future__ import annotations

import json
import shutil
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from penstock.events import BatchProgress, EventLog, EventType, FlowStatus
from penstock.events import builders as say
from penstock.graph.identifier import Identifier
from penstock.plan.state import GENERATION, PIPELINE
from penstock.storage import StorageLayout

RAW, TOPIC, HOURLY = (Identifier("shop", name) for name in ("raw", "topic", "hourly"))
BATCHES: Final = {RAW: 12, TOPIC: 4, HOURLY: 4}

_SETTINGS: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.shuffle.partitions": "2",
}
_NO_CHANGES: Final = bytes.fromhex(
    "4c5a34426c6f636b150400000004000000db804d08ffffffff4c5a34426c6f636b15000000000000000000000000"
)
"""A change log of RocksDB without an entry: a block of LZ4 and the one that ends the stream."""
_NOON: Final = 1_795_264_000_000


def place(layout: StorageLayout, dataset: Identifier) -> Path:
    """Returns the folder of a dataset's checkpoint."""
    return Path(layout.checkpoint(dataset, dataset.name, 0))


def query_id(layout: StorageLayout, dataset: Identifier) -> str:
    """Returns the query's id that stands there."""
    return str(json.loads((place(layout, dataset) / "metadata").read_text())["id"])


def write(checkpoint: Path, name: str, content: bytes) -> None:
    """Writes a file of a checkpoint, and Hadoop's checksum beside it."""
    path = checkpoint / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    sums = [zlib.crc32(content[at : at + 512]) for at in range(0, len(content), 512)]
    crc = b"crc\0" + struct.pack(">i", 512) + b"".join(struct.pack(">I", each) for each in sums)
    (path.parent / f".{path.name}.crc").write_bytes(crc)


def state_schema(*, key: Sequence[str], value: Sequence[str]) -> bytes:
    """Returns the schema of a state store with these columns, as Java writes it."""
    content = b"\0\x02v2"
    for columns in (key, value):
        fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in columns]
        text = _json({"type": "struct", "fields": fields}).encode()
        content += struct.pack(">iH", 1, len(text)) + text
    return content


def plan_batch(checkpoint: Path, batch: int, offsets: Mapping[str, Any], *, watermark: int = 0) -> None:
    """Writes `offsets/N`, what Spark does before a batch."""
    metadata = {
        "batchWatermarkMs": watermark,
        "batchTimestampMs": _NOON + 60_000 * batch,
        "conf": _SETTINGS,
        "sourceMetadataInfo": {},
    }
    lines = ["v2", _json(metadata), *(f"{name}:{_json(offset)}" for name, offset in offsets.items())]
    write(checkpoint, f"offsets/{batch}", "\n".join(lines).encode())


def commit_batch(checkpoint: Path, batch: int, *, watermark: int = 0) -> None:
    """Writes `commits/N`, what Spark does after a batch."""
    write(checkpoint, f"commits/{batch}", f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'.encode())


def recorded_checkpoints(storage: Path) -> StorageLayout:
    """Makes the storage; every flow has finished all its batches."""
    layout = StorageLayout(str(storage))
    for dataset in BATCHES:
        drawn = str(uuid.uuid5(uuid.NAMESPACE_OID, str(dataset)))
        write(place(layout, dataset), "metadata", _json({"id": drawn}).encode())
        write_rows(layout, dataset, drawn, BATCHES[dataset] - 1)
    _raw(place(layout, RAW))
    _topic(place(layout, TOPIC))
    _hourly(place(layout, HOURLY))
    _events(layout)
    return layout


def copied_checkpoints(recorded: Path, to: Path) -> StorageLayout:
    """Copies a recorded storage, which is quicker than making one; its log names the new places."""
    shutil.copytree(recorded, to)
    for segment in (to / "events").iterdir():
        segment.write_text(segment.read_text().replace(str(recorded), str(to)))
    return StorageLayout(str(to))


def write_rows(layout: StorageLayout, dataset: Identifier, query: str, batch: int) -> None:
    """Commits a row to a table as batch `batch` of a query."""
    done = CommitProperties(app_transactions=[Transaction(query, batch)])
    path = layout.table(dataset)
    write_deltalake(path, pa.table({"id": [batch]}), mode="append", commit_properties=done)
    if DeltaTable(path).version() == 0:
        properties = {GENERATION: "0", PIPELINE: "shop"}
        DeltaTable(path).alter.set_table_properties(properties, raise_if_not_exists=False)


def report(layout: StorageLayout, dataset: Identifier, batch: int, rows: int) -> None:
    """Writes the event of a batch."""
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="later") as log:
        _report(log, dataset, batch, rows)


def _raw(checkpoint: Path) -> None:
    name = "cloudFiles_orders"
    steps = [_json(_file(step)) for step in range(12)]
    for step in range(12):
        if step == 9:
            write(checkpoint, f"sources/{name}/9.compact", "\n".join(["v1", *steps[:10]]).encode())
        elif step > 4:  # those before the compacted step are deleted some time later
            write(checkpoint, f"sources/{name}/{step}", f"v1\n{steps[step]}".encode())
        plan_batch(checkpoint, step, {name: {"logOffset": step}})
        commit_batch(checkpoint, step)


def _file(step: int) -> dict[str, Any]:
    return {"path": f"file:///data/orders-{step:05}.json", "timestamp": _NOON + step, "batchId": step}


def _topic(checkpoint: Path) -> None:
    write(checkpoint, "sources/kafka_orders/0", b'\0v1\n{"orders":{"0":0,"1":0}}')
    for batch in range(4):
        plan_batch(checkpoint, batch, {"kafka_orders": {"orders": {"0": 10 * batch + 10, "1": 10 * batch + 7}}})
        commit_batch(checkpoint, batch)


def _hourly(checkpoint: Path) -> None:
    stores = [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}]
    operator = {"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": stores}
    write(checkpoint, "state/0/_metadata/metadata", f"v1\n{_json(operator)}".encode())
    write(checkpoint, "state/0/0/_metadata/schema", state_schema(key=["hour"], value=["count"]))
    for batch in range(4):
        watermark = _NOON + 1000 * batch if batch else 0
        delta = {"sourceVersion": 1, "reservoirId": str(uuid.UUID(int=7)), "reservoirVersion": batch + 2, "index": -1}
        plan_batch(checkpoint, batch, {"raw": {**delta, "isStartingVersion": False}}, watermark=watermark)
        commit_batch(checkpoint, batch, watermark=watermark + 1000)
        for partition in (0, 1):
            write(checkpoint, f"state/0/{partition}/{batch + 1}.changelog", _NO_CHANGES)


def _events(layout: StorageLayout) -> None:
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="first") as log:
        start = say.create_update(pipeline="shop", cause="USER_ACTION", version="0")
        log.append(EventType.CREATE_UPDATE, *start)
        for dataset in BATCHES:
            definition = say.dataset_definition(
                str(dataset), dataset_type="STREAMING_TABLE", path=layout.table(dataset)
            )
            log.append(EventType.DATASET_DEFINITION, *definition, dataset=str(dataset))
            sources = [("cloudFiles", "/data", "cloudFiles_orders")] if dataset == RAW else []
            flow = say.flow_definition(dataset.name, output_dataset=str(dataset), flow_type="append", sources=sources)
            log.append(EventType.FLOW_DEFINITION, *flow, dataset=str(dataset), flow=dataset.name)
        for dataset, batches in BATCHES.items():
            for batch in range(batches):
                _report(log, dataset, batch, rows=1)


def _report(log: EventLog, dataset: Identifier, batch: int, rows: int) -> None:
    numbers = BatchProgress(batch_id=batch, num_input_rows=rows, num_output_rows=rows)
    told = say.flow_batch(dataset.name, numbers, status=FlowStatus.RUNNING)
    log.append(EventType.FLOW_PROGRESS, *told, dataset=str(dataset), flow=dataset.name, batch_id=batch)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
