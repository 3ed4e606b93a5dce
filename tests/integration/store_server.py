"""What the tests ask of a server of an object store, so that one test can be run against each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, Self

import pytest
from tests.integration.azure_server import AzureServer
from tests.integration.gcs_server import GcsServer
from tests.integration.s3_server import S3Server
from tests.integration.versity_server import VersityServer

from penstock.storage.stores.settings import use_store_settings


class StoreServer(Protocol):
    """A server on loopback, with nothing in it; a context manager."""

    @property
    def port(self) -> int:
        """Where it listens."""
        ...

    @property
    def missing(self) -> str:
        """The URI of a bucket that does not exist."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: Any) -> None: ...

    def settings(self, **more: str) -> dict[str, str]:
        """Returns the settings of a session that reads this server; `more` are settings of its client."""
        ...

    def settings_at(self, address: str, *, tls: bool = False) -> dict[str, str]:
        """Returns the settings of a session that looks for this server at another HOST:PORT, where `tls` says how.

        In Azure the scheme of a URI says so instead.
        """
        ...

    def bucket(self, name: str) -> str:
        """Creates a bucket; returns its URI."""
        ...

    def delete_bucket(self, name: str) -> None:
        """Deletes an empty bucket."""
        ...

    def put(self, bucket: str, key: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Puts a file of JSON lines."""
        ...

    def keys(self, bucket: str) -> list[str]:
        """Returns the keys of files."""
        ...

    def delete(self, bucket: str, key: str) -> None:
        """Deletes an object."""
        ...

    def content(self, bucket: str, key: str) -> bytes:
        """Returns what an object holds."""
        ...

    def modified(self, bucket: str, key: str) -> float:
        """Returns when an object was written, in seconds since 1970."""
        ...

    def refusing(self) -> AbstractContextManager[dict[str, str]]:
        """Refuses the credentials of the settings that it gives for the block."""
        ...


_SERVERS: Final[Mapping[str, Callable[[Path], StoreServer]]] = {
    "s3": S3Server,
    "azure": AzureServer,
    "gcs": GcsServer,
    "versity": VersityServer,
}
STORES: Final = ("s3", "azure", "gcs")
EACH_STORE: Final = ("s3", "azure", pytest.param("gcs", marks=pytest.mark.slow))
"""For tests of every store; what is shown for two kinds of them is slow for the third."""
SERVERS: Final = (*EACH_STORE, pytest.param("versity", marks=pytest.mark.slow))
"""One of each store, and a second S3."""
QUICK_SERVERS: Final = tuple(_SERVERS)
"""The same for quick tests, of which none is slow; the programs of the last two are built first, in a minute."""


def store_server(kind: str, folder: Path) -> StoreServer:
    """Returns one of SERVERS."""
    return _SERVERS[kind](folder)


@contextmanager
def used_by_this_process(server: StoreServer, **more: str) -> Iterator[StoreServer]:
    """Has Penstock's own clients in this process use a server."""
    use_store_settings(lambda: server.settings(**more))
    try:
        yield server
    finally:
        use_store_settings(dict)
