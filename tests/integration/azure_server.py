"""Azure Blob Storage on loopback (azurite), fetched once and started by the tests that need it.

An account without folders, as `azurite` has them: Spark's client then speaks the protocol of blobs. Without TLS its
default HTTP library does not start, so the settings name Java's own.
"""

from __future__ import annotations

import base64
import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import BlobServiceClient
from tests.processes import Server, accepts_connections, free_ports
from tools.node import npm_and_node

from penstock.spark.session.setup.cache import cache_directory, one_process_at_a_time

ACCOUNT: Final = "shop"
KEY: Final = base64.b64encode(b"a key of the tests, of 64 bytes as those of Azure, no more, less").decode()
OTHER_KEY: Final = base64.b64encode(b"another key of the tests").decode()
HOST: Final = f"{ACCOUNT}.dfs.core.windows.net"
"""ABFS finds the account's name in no other host, where an emulator's address is set."""

_PACKAGE: Final = "azurite@3.37.0"
_MAIN: Final = "node_modules/azurite/dist/src/blob/main.js"


@functools.cache
def _azurite() -> Path:
    place = cache_directory() / _PACKAGE
    with one_process_at_a_time(place.with_name(f"{_PACKAGE}.lock"), waiting=lambda: None):
        if not place.is_dir():
            print(f"Fetching {_PACKAGE} (once)", file=sys.stderr)
            npm, _ = npm_and_node()
            with tempfile.TemporaryDirectory(dir=place.parent) as folder:
                install = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
                subprocess.run([*npm, *install, _PACKAGE], check=True, stdout=subprocess.DEVNULL, timeout=600)
                Path(folder).rename(place)
                Path(folder).mkdir()  # for the end of the block
    return place / _MAIN


class AzureServer:
    """One server with one account; see `StoreServer`."""

    missing = f"abfs://no-such-bucket@{HOST}"

    def __init__(self, folder: Path) -> None:
        (self.port,) = free_ports(1)
        node = npm_and_node()[1]
        options = ["--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--inMemoryPersistence", "--silent"]
        options += ["--skipApiVersionCheck", "--disableTelemetry"]
        environ = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
        self.server = Server("azurite", [node, str(_azurite()), *options], folder / "azurite.log", environ)
        credential = AzureNamedKeyCredential(ACCOUNT, KEY)
        self.client = BlobServiceClient(f"http://127.0.0.1:{self.port}/{ACCOUNT}", credential=credential, retry_total=0)

    def __enter__(self) -> AzureServer:
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
            "abfs.endpoint": f"127.0.0.1:{self.port}",
            "always.use.https": "false",
            "networking.library": "JDK_HTTP_URL_CONNECTION",
            "account.hns.enabled": "false",
            "fns.account.service.type": "BLOB",
            f"account.key.{HOST}": KEY,
            "io.retry.max.retries": "1",
            **more,
        }
        return {f"spark.hadoop.fs.azure.{key}": value for key, value in chosen.items()}

    def settings_at(self, address: str, *, tls: bool = False) -> dict[str, str]:
        """See `StoreServer`."""
        return self.settings(**{"abfs.endpoint": address})

    def bucket(self, name: str) -> str:
        """Creates a container; returns its URI."""
        self.client.create_container(name)
        return f"abfs://{name}@{HOST}"

    def delete_bucket(self, name: str) -> None:
        """See `StoreServer`."""
        self.client.delete_container(name)

    def put(self, bucket: str, key: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """See `StoreServer`."""
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        self.client.get_blob_client(bucket, key).upload_blob(lines.encode(), overwrite=True)

    def keys(self, bucket: str) -> list[str]:
        """Returns the names of a container's blobs, without those that stand for folders."""
        blobs = self.client.get_container_client(bucket).list_blobs(include=["metadata"])
        return [blob.name for blob in blobs if (blob.metadata or {}).get("hdi_isfolder") != "true"]

    def delete(self, bucket: str, key: str) -> None:
        """See `StoreServer`."""
        self.client.get_blob_client(bucket, key).delete_blob()

    def content(self, bucket: str, key: str) -> bytes:
        """See `StoreServer`."""
        return self.client.get_blob_client(bucket, key).download_blob().readall()

    def modified(self, bucket: str, key: str) -> float:
        """See `StoreServer`."""
        return self.client.get_blob_client(bucket, key).get_blob_properties().last_modified.timestamp()

    @contextmanager
    def refusing(self) -> Iterator[dict[str, str]]:
        """Gives settings with a key that is not the account's."""
        yield self.settings(**{f"account.key.{HOST}": OTHER_KEY})
