"""Moto's server with the Kinesis of AWS where moto's is another: `python -m tests.integration.moto_kinesis PORT`.

docs/how-to/kinesis.md lists the differences. A test asks for faults by tags of a stream: `fault.throttle=3` refuses the
next three GetRecords, `fault.expire=1` ends the next iterator, `fault.trim=5` drops the oldest five records of each
shard. A key that begins with WRONG is not known, one that begins with DENIED may read nothing.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.kinesis import models
from moto.kinesis.models import KinesisBackend, Shard, Stream
from moto.kinesis.utils import compose_shard_iterator, decompose_shard_iterator
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.utilities.utils import md5_hash
from werkzeug.serving import make_server

_NUMBERS = itertools.count(49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898, 16)
_MOST_BYTES = 10 * 1024 * 1024
_HORIZON = "horizon"
_lock = threading.Lock()

_get_shard_iterator, _get_records = KinesisBackend.get_shard_iterator, KinesisBackend.get_records


def put_record(self: Shard, partition_key: str, data: str, explicit_hash_key: str) -> str:
    """Numbers are those of a stream, long, and with gaps."""
    with _lock:
        number = next(_NUMBERS)
        self.records[number] = models.Record(partition_key, data, number, explicit_hash_key)
    return str(number)


def get_shard_for_key(self: Stream, partition_key: str, explicit_hash_key: str) -> Shard | None:
    """A closed shard takes no records, and the last hash key of a shard is its own."""
    key = int(explicit_hash_key) if explicit_hash_key else int(md5_hash(partition_key.encode()).hexdigest(), 16)
    fitting = (shard for shard in self.shards.values() if shard.is_open)
    return next((shard for shard in fitting if shard.starting_hash <= key <= shard.ending_hash), None)


def split_shard(self: Stream, shard_to_split: str, new_starting_hash_key: str) -> None:
    """The records stay in the shard that was split, which is closed."""
    parent, middle, last = self.shards[shard_to_split], int(new_starting_hash_key), len(self.shards)
    for number, (low, high) in enumerate(((parent.starting_hash, middle - 1), (middle, parent.ending_hash))):
        child = Shard(last + number, low, high, parent=parent.shard_id)
        self.shards[child.shard_id] = child
    parent.is_open = False


def merge_shards(self: Stream, shard_to_merge: str, adjacent_shard_to_merge: str) -> None:
    """As a split."""
    one, other = self.shards[shard_to_merge], self.shards[adjacent_shard_to_merge]
    keys = sorted([one.starting_hash, one.ending_hash, other.starting_hash, other.ending_hash])
    child = Shard(len(self.shards), keys[0], keys[-1], parent=one.shard_id, adjacent_parent=other.shard_id)
    self.shards[child.shard_id] = child
    one.is_open = other.is_open = False


def to_json(self: Shard) -> dict[str, Any]:
    """A closed shard has an ending sequence number, also without records."""
    told = shard_to_json(self)
    if not self.is_open:
        told["SequenceNumberRange"]["EndingSequenceNumber"] = str(self.get_max_sequence_number() or 1)
    return told


def get_shard_iterator(
    self: KinesisBackend,
    stream_arn: Any,
    stream_name: Any,
    shard_id: Any,
    shard_iterator_type: Any,
    number: Any,
    at: Any,
) -> str:
    """A position before the oldest record is none that leads to it."""
    stream = self.describe_stream(stream_arn, stream_name)
    _trim(stream)
    found = _get_shard_iterator(
        self, stream_arn, stream.stream_name, shard_id, shard_iterator_type, number, at
    )  # fmt: skip
    shard = stream.shards[shard_id]
    if number and int(number) < (shard.get_min_sequence_number() or getattr(shard, "trimmed", 0) + 1):
        return f"{_HORIZON}:{stream.stream_name}"
    return found


def get_records(self: KinesisBackend, stream_arn: Any, shard_iterator: str, limit: int | None) -> tuple[Any, Any, int]:
    """Ten megabytes at most, no next iterator at the end of a closed shard, and behind by more than 0 until the tip."""
    if shard_iterator.startswith(_HORIZON):
        hours = self.describe_stream(None, shard_iterator.partition(":")[2]).retention_period_hours
        return shard_iterator, [], hours * 3_600_000
    name, shard_id, last = decompose_shard_iterator(shard_iterator)
    stream = self.describe_stream(stream_arn, name)
    if _is_asked(stream, "fault.throttle"):
        raise JsonRESTError("ProvisionedThroughputExceededException", f"Rate exceeded for shard {shard_id} in {name}")
    if _is_asked(stream, "fault.expire"):
        raise JsonRESTError("ExpiredIteratorException", "Iterator expired")
    _trim(stream)
    shard = stream.get_shard(shard_id)
    with _lock:
        waiting = [record for number, record in shard.records.items() if number > int(last)]
    taken: list[models.Record] = []
    size = 0
    for record in waiting[:limit]:
        size += len(record.data) * 3 // 4
        if taken and size > _MOST_BYTES:
            break
        taken.append(record)
    rest = len(waiting) - len(taken)
    behind = 0 if not rest else max(1, int(1000 * (waiting[-1].created_at - taken[-1].created_at)))
    after = taken[-1].sequence_number if taken else int(last)
    following = compose_shard_iterator(name, shard, after) if rest or shard.is_open else None
    return following, taken, behind


def _trim(stream: Stream) -> None:
    count = int(stream.tags.pop("fault.trim", 0))
    for shard in stream.shards.values() if count else ():
        for number in list(shard.records)[:count]:
            del shard.records[number]
            shard.trimmed = number  # type: ignore[attr-defined]


def _is_asked(stream: Stream, fault: str) -> bool:
    with _lock:
        left = int(stream.tags.get(fault, 0))
        stream.tags[fault] = str(max(left - 1, 0))
    return left > 0


class Signed:
    """Refuses requests by their access key, which moto does not look at."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        signature = environ.get("HTTP_AUTHORIZATION", "")
        for key, code, message in (
            (
                "Credential=WRONG",
                "UnrecognizedClientException",
                "The security token included in the request is invalid.",
            ),
            ("Credential=DENIED", "AccessDeniedException", "User: arn:aws:iam::1:user/x is not authorized"),
        ):
            if key in signature:
                start_response("400 Bad Request", [("Content-Type", "application/x-amz-json-1.1")])
                return [json.dumps({"__type": code, "message": message}).encode()]
        return self._application(environ, start_response)


class QuietHandler(MotoRequestHandler):
    """Writes no line for each request."""

    def log_request(self, *_: Any) -> None:
        return


shard_to_json = Shard.to_json
Shard.put_record, Shard.to_json = put_record, to_json  # type: ignore[method-assign]
Stream.get_shard_for_key = get_shard_for_key  # type: ignore[method-assign]
Stream.split_shard, Stream.merge_shards = split_shard, merge_shards  # type: ignore[method-assign]
KinesisBackend.get_shard_iterator = get_shard_iterator  # type: ignore[method-assign, assignment]
KinesisBackend.get_records = get_records  # type: ignore[method-assign]

if __name__ == "__main__":
    application = Signed(DomainDispatcherApplication(create_backend_app))
    make_server("127.0.0.1", int(sys.argv[1]), application, threaded=True, request_handler=QuietHandler).serve_forever()
