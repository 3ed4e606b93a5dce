"""A Kinesis on loopback (moto's server, `moto_kinesis`), started and stopped by the tests that need it."""

from __future__ import annotations

from collections.abc import Iterable

from tests.integration.moto_server import ACCESS_KEY, REGION, SECRET_KEY, MotoServer


class KinesisServer(MotoServer):
    """One server, with nothing in it; a context manager."""

    SERVICE = "kinesis"
    MODULE = ("tests.integration.moto_kinesis",)

    def options(self, stream: str, **more: str) -> dict[str, str]:
        """Returns the options with which a test reads a stream, quickly and from its beginning."""
        return {
            "streamName": stream,
            "region": REGION,
            "endpointUrl": self.endpoint,
            "awsAccessKey": ACCESS_KEY,
            "awsSecretKey": SECRET_KEY,
            "initialPosition": "trim_horizon",
            "minFetchPeriod": "20ms",
            "shardFetchInterval": "50ms",
            **more,
        }

    def create(self, stream: str, shards: int = 1) -> None:
        """Creates a stream."""
        self.client.create_stream(StreamName=stream, ShardCount=shards)

    def put(self, stream: str, values: Iterable[bytes | str]) -> list[str]:
        """Puts records, each under its own value as key; returns their sequence numbers."""
        records = [
            {"Data": value if isinstance(value, bytes) else value.encode(), "PartitionKey": f"key-{number}"}
            for number, value in enumerate(values)
        ]
        found: list[str] = []
        for start in range(0, len(records), 500):
            answer = self.client.put_records(StreamName=stream, Records=records[start : start + 500])
            found += [record["SequenceNumber"] for record in answer["Records"]]
        return found

    def fault(self, stream: str, **counts: int) -> None:
        """Asks for faults: `throttle`, `expire`, `trim`."""
        tags = {f"fault.{name}": str(count) for name, count in counts.items()}
        self.client.add_tags_to_stream(StreamName=stream, Tags=tags)

    def split(self, stream: str, shard: int) -> None:
        """Splits a shard in the middle."""
        shards = {each["ShardId"]: each for each in self.client.list_shards(StreamName=stream)["Shards"]}
        keys = shards[f"shardId-{shard:012}"]["HashKeyRange"]
        middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"])) // 2
        self.client.split_shard(StreamName=stream, ShardToSplit=f"shardId-{shard:012}", NewStartingHashKey=str(middle))

    def merge(self, stream: str, shard: int, other: int) -> None:
        """Merges two shards that are neighbours."""
        self.client.merge_shards(
            StreamName=stream, ShardToMerge=f"shardId-{shard:012}", AdjacentShardToMerge=f"shardId-{other:012}"
        )
