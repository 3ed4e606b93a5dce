"""A server of moto on loopback, and the client of one service of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

import boto3
from botocore.config import Config
from tests.processes import Server, accepts_connections, free_ports

REGION = "eu-central-1"
ACCESS_KEY, SECRET_KEY = "AKIATESTS", "a-secret-of-the-tests"


class MotoServer:
    """One server, with nothing in it; a context manager. A subclass says for which service, and how it is started."""

    SERVICE: ClassVar[Literal["kinesis", "s3"]]
    MODULE: ClassVar[tuple[str, ...]]
    """What `python -m` starts; the port comes behind it."""

    CLIENT: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, folder: Path) -> None:
        (self.port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.server = self._program(folder)
        self.client: Any = boto3.client(
            self.SERVICE,
            region_name=REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(retries={"total_max_attempts": 1}, **self.CLIENT),
        )

    def _program(self, folder: Path) -> Server:
        return Server("moto", [sys.executable, "-m", *self.MODULE, str(self.port)], folder / "moto.log")

    def __enter__(self) -> Self:
        self.server.start(lambda: accepts_connections(self.port))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.server.stop()
