"""An S3 on loopback (moto's server), started and stopped by the tests that need it."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3
from botocore.config import Config
from tests.processes import Server, accepts_connections, free_ports

REGION = "eu-central-1"
ACCESS_KEY, SECRET_KEY = "AKIATESTS", "a-secret-of-the-tests"


class S3Server:
    """One server, with no bucket; a context manager."""

    def __init__(self, folder: Path) -> None:
        (self.port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self.server = Server("moto", command, folder / "moto.log")
        self.client: Any = boto3.client(
            "s3",
            region_name=REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        )

    def __enter__(self) -> Self:
        self.server.start(lambda: accepts_connections(self.port))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.server.stop()

    def settings(self, **more: str) -> dict[str, str]:
        """Returns the settings of a session that reads this server, in the spelling of `spark_conf`."""
        chosen = {
            "endpoint": self.endpoint,
            "endpoint.region": REGION,
            "path.style.access": "true",
            "access.key": ACCESS_KEY,
            "secret.key": SECRET_KEY,
            **more,
        }
        return {f"spark.hadoop.fs.s3a.{key}": value for key, value in chosen.items()}

    def bucket(self, name: str) -> str:
        """Creates a bucket; returns its URI."""
        self.client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        return f"s3a://{name}"

    def put(self, bucket: str, key: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Puts a file of JSON lines."""
        self.client.put_object(Bucket=bucket, Key=key, Body="".join(f"{json.dumps(row)}\n" for row in rows).encode())

    def keys(self, bucket: str) -> list[str]:
        """Returns the keys of a bucket, at most a thousand."""
        return [each["Key"] for each in self.client.list_objects_v2(Bucket=bucket).get("Contents", [])]

    @contextmanager
    def checking_credentials(self) -> Iterator[None]:
        """Refuses whoever has no known key, as AWS does; moto lets everybody in by itself."""
        self._authenticate_after(0)
        try:
            yield
        finally:
            self._authenticate_after(10**9)

    def _authenticate_after(self, requests: int) -> None:
        request = urllib.request.Request(f"{self.endpoint}/moto-api/reset-auth", data=str(requests).encode())
        request.add_header("Content-Type", "text/plain")  # else the server takes the number for a form
        urllib.request.urlopen(request, timeout=10).close()
