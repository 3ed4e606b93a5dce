"""Google Cloud Storage on loopback (fake-gcs-server), built once and started by the tests that need it."""

from __future__ import annotations

import functools
import json
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.go_programs import go_program
from tests.integration.gcs_front import KEY_ID
from tests.processes import Server, accepts_connections, free_ports

_PROJECT: Final = "shop"
_ROOT: Final = Path(__file__).resolve().parent.parent.parent


@functools.cache
def _private_key() -> str:
    key = rsa.generate_private_key(65537, 2048)
    form, encoding = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


class GcsServer:
    """One server, and what it lacks before it; see `StoreServer`."""

    PROGRAM: Final = ("github.com/fsouza/fake-gcs-server", "v1.56.1")
    missing = "gs://no-such-bucket"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port, self._behind = free_ports(2)
        program = go_program(*self.PROGRAM)
        options = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(self._behind)]
        log = folder / "fake-gcs-server.log"
        self.server = Server("fake-gcs-server", [str(program), *options, "-log-level", "error"], log)
        front = [sys.executable, "-m", "tests.integration.gcs_front", str(self.port), str(self._behind)]
        self._front = Server("gcs_front", front, folder / "gcs_front.log", {"PYTHONPATH": str(_ROOT)})

    def __enter__(self) -> GcsServer:
        self.server.start(lambda: accepts_connections(self._behind))
        self._front.start(lambda: accepts_connections(self.port))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._front.stop()
        self.server.stop()

    def key_file(self, key_id: str = KEY_ID) -> str:
        """Writes the key file of a service account; returns its path."""
        path = self._folder / f"{key_id}.json"
        document = {
            "type": "service_account",
            "project_id": _PROJECT,
            "private_key_id": key_id,
            "private_key": _private_key(),
            "client_email": "tests@shop.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": f"http://127.0.0.1:{self.port}/token",
        }
        path.write_text(json.dumps(document))
        return str(path)

    def settings(self, **more: str) -> dict[str, str]:
        """Returns the settings of a session that reads this server, in the spelling of `spark_conf`."""
        chosen = {
            "project.id": _PROJECT,
            "storage.root.url": f"http://127.0.0.1:{self.port}/",
            "auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "auth.service.account.json.keyfile": more.pop("auth.service.account.json.keyfile", None) or self.key_file(),
            **more,
        }
        return {f"spark.hadoop.fs.gs.{key}": value for key, value in chosen.items()}

    def settings_at(self, address: str, *, tls: bool = False) -> dict[str, str]:
        """See `StoreServer`."""
        return self.settings(**{"storage.root.url": f"{'https' if tls else 'http'}://{address}/"})

    def bucket(self, name: str) -> str:
        """Creates a bucket; returns its URI."""
        self._ask("POST", "/storage/v1/b", json.dumps({"name": name}).encode())
        return f"gs://{name}"

    def delete_bucket(self, name: str) -> None:
        """See `StoreServer`."""
        self._ask("DELETE", f"/storage/v1/b/{name}")

    def put(self, bucket: str, key: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """See `StoreServer`."""
        content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        self._ask("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(key, safe='')}", content)

    def keys(self, bucket: str) -> list[str]:
        """Returns the names of a bucket's objects, with those that stand for folders."""
        return [item["name"] for item in json.loads(self._ask("GET", f"/storage/v1/b/{bucket}/o")).get("items", [])]

    def delete(self, bucket: str, key: str) -> None:
        """See `StoreServer`."""
        self._ask("DELETE", _path(bucket, key))

    def content(self, bucket: str, key: str) -> bytes:
        """See `StoreServer`."""
        return self._ask("GET", f"{_path(bucket, key)}?alt=media")

    def modified(self, bucket: str, key: str) -> float:
        """See `StoreServer`."""
        return datetime.fromisoformat(json.loads(self._ask("GET", _path(bucket, key)))["updated"]).timestamp()

    def _ask(self, method: str, path: str, content: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/json"}
        url = f"http://127.0.0.1:{self._behind}{path}"
        with urllib.request.urlopen(urllib.request.Request(url, content, headers, method=method), timeout=20) as answer:
            return bytes(answer.read())

    @contextmanager
    def refusing(self) -> Iterator[dict[str, str]]:
        """Gives settings with a key that nobody knows."""
        yield self.settings(**{"auth.service.account.json.keyfile": self.key_file("another-key")})


def _path(bucket: str, key: str) -> str:
    return f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}"
