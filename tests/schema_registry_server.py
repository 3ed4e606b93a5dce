"""A schema registry of ours, for tests: a small HTTP server that answers as Confluent's REST API does.

It has what reading needs (`GET /schemas/ids/N`, `/subjects/S/versions/latest` and `/versions/V`), Basic authentication
and TLS. Schemas are registered by a method of Python, those of Protobuf as descriptors, which is what
`format=serialized` asks for. What it answers is written after the documentation of the API.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit


class SchemaRegistryServer:
    """Answers between `__enter__` and `__exit__`; `asked` has the paths of all requests.

    `failing` is how many of the next requests are answered with 503. With `certificate`, a PEM file with its key, it
    speaks TLS.
    """

    def __init__(self, login: str | None = None, certificate: str | None = None) -> None:
        self.login = login
        self.failing = 0
        self.asked: list[str] = []
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[str, list[int]] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.address = f"{scheme}://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> SchemaRegistryServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def register(
        self, subject: str, schema: object, kind: str = "AVRO", references: Sequence[dict[str, Any]] = ()
    ) -> int:
        """Adds a version to a subject and returns the id of its schema."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        number = len(self.schemas) + 1
        self.schemas[number] = {"schema": text} | ({} if kind == "AVRO" else {"schemaType": kind})
        if references:
            self.schemas[number]["references"] = list(references)
        self.subjects.setdefault(subject, []).append(number)
        return number

    def _answer(self, path: str) -> tuple[int, dict[str, Any]]:
        match path.strip("/").split("/"):
            case ["schemas", "ids", number]:
                if (found := self.schemas.get(int(number))) is not None:
                    return 200, found
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case ["subjects", subject, "versions", version]:
                versions = self.subjects.get(unquote(subject), [])
                if not versions:
                    return 404, {"error_code": 40401, "message": "Subject not found"}
                place = len(versions) if version == "latest" else int(version)
                of_version = versions[place - 1]
                named = {"subject": unquote(subject), "id": of_version, "version": place}
                return 200, named | self.schemas[of_version]
        return 404, {"message": "HTTP 404 Not Found"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                if registry.failing > 0:
                    registry.failing -= 1
                    status, body = 503, {"error_code": 50301, "message": "no leader"}
                elif registry.login is not None and self.headers["Authorization"] != _basic(registry.login):
                    status, body = 401, {"error_code": 401, "message": "Unauthorized"}
                else:
                    status, body = registry._answer(urlsplit(self.path).path)
                sent = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name that it has there
                """Says nothing."""

        return Handler


def _basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def framed(number: int, payload: bytes) -> bytes:
    """Returns a message as Confluent's serializers write it."""
    return b"\x00" + number.to_bytes(4, "big") + payload
