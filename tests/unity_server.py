"""A server of Unity Catalog's REST API for external Delta tables, written from its specification (0.6).

It has what registration calls, and refuses what the specification does not have: other fields, missing ones, requests
without a requirement, a stale state. `tests/spark/test_unity_catalog.py` reads it with the published Java client.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote

API = "/api/2.1/unity-catalog"
_CREATE = {
    "name": str,
    "location": str,
    "table-type": str,
    "columns": dict,
    "protocol": dict,
    "properties": dict,
    "last-commit-timestamp-ms": int,
}
_CREATE_OPTIONAL = {"comment": str, "partition-columns": list, "domain-metadata": dict, "uniform": dict}
_UPDATES: dict[str, dict[str, Any]] = {
    "set-properties": {"updates": dict},
    "remove-properties": {"removals": list},
    "set-columns": {"columns": dict},
    "set-table-comment": {"comment": str},
}
_FIELD = {"name": str, "type": (str, dict), "nullable": bool, "metadata": dict}


class Refused(Exception):
    def __init__(self, status: int, kind: str, message: str = "") -> None:
        super().__init__(message or kind)
        self.status, self.kind = status, kind


def _fields(document: Any, required: dict[str, Any], optional: dict[str, Any] | None = None) -> None:
    optional = optional or {}
    if not isinstance(document, dict):
        raise Refused(400, "BadRequestException", "no object")
    for name, value in document.items():
        if not isinstance(value, (required | optional).get(name, ())):
            raise Refused(400, "BadRequestException", f"{name} is not as it should be")
    if missing := required.keys() - document.keys():
        raise Refused(400, "InvalidParameterValueException", f"without {missing}")


def _type(kind: Any) -> None:
    """A primitive type is a text; the others are objects."""
    if isinstance(kind, str):
        return
    match kind.get("type"):
        case "struct":
            _columns(kind)
        case "array":
            _fields(kind, {"type": str, "element-type": (str, dict), "contains-null": bool})
            _type(kind["element-type"])
        case "map":
            _fields(
                kind,
                {"type": str, "key-type": (str, dict), "value-type": (str, dict), "value-contains-null": bool},
            )
            _type(kind["key-type"])
            _type(kind["value-type"])
        case other:
            raise Refused(400, "InvalidParameterValueException", f"type {other}")


def _columns(struct: Any) -> None:
    _fields(struct, {"type": str, "fields": list})
    for field in struct["fields"]:
        _fields(field, _FIELD)
        _type(field["type"])
    names = [field["name"].lower() for field in struct["fields"]]
    if struct["type"] != "struct" or not names or len(names) != len(set(names)):
        raise Refused(400, "InvalidParameterValueException", "columns")


class UnityServer:
    """A context manager; `token` is what it lets in. `tables` and `schemas` are what it has; `requests` what it got."""

    def __init__(self, token: str | None = None, catalogs: tuple[str, ...] = ("main",)) -> None:
        self.token = token
        self.catalogs = set(catalogs)
        self.schemas: set[tuple[str, str]] = set()
        self.tables: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.before: Callable[[str, str], None] = lambda method, path: None
        """Called before each request; what it raises is the answer."""

    def __enter__(self) -> Self:
        server, outer = ThreadingHTTPServer(("127.0.0.1", 0), _Handler), self
        server.unity = outer  # type: ignore[attr-defined]
        server.daemon_threads = True
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, method: str, path: str, authorization: str | None, body: Any) -> tuple[int, Any]:
        if self.token is not None and authorization != f"Bearer {self.token}":
            raise Refused(401, "NotAuthorizedException", "the token is not valid")
        self.before(method, path)
        self.requests.append((method, path, body))
        match method, [unquote(each) for each in path.removeprefix(API).strip("/").split("/")]:
            case "POST", ["schemas"]:
                return self._create_schema(body)
            case "POST", ["delta", "v1", "catalogs", catalog, "schemas", schema, "tables"]:
                return self._create(catalog, schema, body)
            case verb, ["delta", "v1", "catalogs", catalog, "schemas", schema, "tables", table]:
                entry = self._find(catalog, schema, table)
                if verb == "GET":
                    return 200, {"metadata": _shown(entry)}
                if verb == "DELETE":
                    del self.tables[catalog, schema, table]
                    return 204, None
                if verb == "POST":
                    return self._update(entry, body)
        raise Refused(404, "NotFoundException", path)

    def _create_schema(self, body: Any) -> tuple[int, Any]:
        _fields(body, {"name": str, "catalog_name": str}, {"comment": str, "properties": dict, "storage_root": str})
        if body["catalog_name"] not in self.catalogs:
            raise Refused(404, "CATALOG_NOT_FOUND")
        if (body["catalog_name"], body["name"]) in self.schemas:
            raise Refused(409, "SCHEMA_ALREADY_EXISTS")
        self.schemas.add((body["catalog_name"], body["name"]))
        return 200, body

    def _place(self, catalog: str, schema: str) -> None:
        if catalog not in self.catalogs:
            raise Refused(404, "NoSuchCatalogException", f"no catalog {catalog}")
        if (catalog, schema) not in self.schemas:
            raise Refused(404, "NoSuchSchemaException", f"no schema {schema}")

    def _find(self, catalog: str, schema: str, table: str) -> dict[str, Any]:
        self._place(catalog, schema)
        if (catalog, schema, table) not in self.tables:
            raise Refused(404, "NoSuchTableException")
        return self.tables[catalog, schema, table]

    def _create(self, catalog: str, schema: str, body: Any) -> tuple[int, Any]:
        self._place(catalog, schema)
        _fields(body, _CREATE, _CREATE_OPTIONAL)
        _fields(
            body["protocol"],
            {"min-reader-version": int, "min-writer-version": int},
            {"reader-features": list, "writer-features": list},
        )
        _columns(body["columns"])
        if body["table-type"] != "EXTERNAL" or "://" not in body["location"]:
            raise Refused(400, "InvalidParameterValueException", "no external table at a location")
        if not body["name"].replace("_", "").isalnum():
            raise Refused(400, "InvalidParameterValueException", f"name {body['name']}")
        if (catalog, schema, body["name"]) in self.tables:
            raise Refused(409, "AlreadyExistsException")
        now = int(time.time() * 1000)
        entry = {**body, "table-uuid": str(uuid.uuid4()), "etag": "1", "created-time": now, "updated-time": now}
        self.tables[catalog, schema, body["name"]] = entry
        return 200, {"metadata": _shown(entry)}

    def _update(self, entry: dict[str, Any], body: Any) -> tuple[int, Any]:
        _fields(body, {"requirements": list, "updates": list})
        asked = {each.get("type"): each for each in body["requirements"]}
        if not body["updates"] or asked.get("assert-table-uuid") is None:
            raise Refused(400, "InvalidParameterValueException", "nothing to do, or no requirement")
        if asked["assert-table-uuid"]["uuid"] != entry["table-uuid"]:
            raise Refused(409, "UpdateRequirementConflictException")
        if "assert-etag" in asked and asked["assert-etag"]["etag"] != entry["etag"]:
            raise Refused(409, "UpdateRequirementConflictException")
        made = {**entry, "properties": dict(entry["properties"])}
        actions = [each.get("action") for each in body["updates"]]
        if len(actions) != len(set(actions)):
            raise Refused(400, "InvalidParameterValueException", "an action twice")
        for update in body["updates"]:
            if update.get("action") not in _UPDATES:
                raise Refused(400, "InvalidParameterValueException", "unknown action")
            _fields(update, {"action": str, **_UPDATES[update["action"]]})
            match update["action"]:
                case "set-properties":
                    made["properties"] |= update["updates"]
                case "remove-properties":
                    for name in update["removals"]:
                        made["properties"].pop(name, None)
                case "set-columns":
                    _columns(update["columns"])
                    made["columns"] = update["columns"]
                case "set-table-comment":
                    made["comment"] = update["comment"]
        entry.update(made, etag=str(int(entry["etag"]) + 1))
        return 200, {"metadata": _shown(entry)}


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    hidden = {"name", "comment", "protocol", "last-commit-timestamp-ms"}
    shown = {name: value for name, value in entry.items() if name not in hidden}
    derived = {"delta.minReaderVersion": str(entry["protocol"]["min-reader-version"])}
    return {**shown, "properties": {**entry["properties"], **derived}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body would wait for the acknowledgement of its headers: 40 ms

    def _serve(self) -> None:
        unity: UnityServer = self.server.unity  # type: ignore[attr-defined]
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        try:
            body = None
            with suppress(ValueError):
                body = json.loads(content) if content else None
            status, answer = unity.answer(self.command, path, self.headers.get("Authorization"), body)
        except Refused as refused:
            status = refused.status
            model = {"message": str(refused), "type": refused.kind, "code": status}
            older = {"error_code": refused.kind, "message": str(refused)}
            answer = {"error": model} if "/delta/v1/" in path else older
        encoded = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        if answer is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the names that http.server calls

    def log_message(self, *_: object) -> None:
        pass
