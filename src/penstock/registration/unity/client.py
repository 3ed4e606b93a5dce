"""A client of Unity Catalog: the calls of its REST API that registration needs.

Source: `api/all.yaml` and `api/delta.yaml` of the open-source Unity Catalog 0.6. Requests and answers are their JSON.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

_SECONDS: Final = 10.0
_API: Final = "/api/2.1/unity-catalog"
_DELTA: Final = f"{_API}/delta/v1"
_MOST_BYTES: Final = 64 << 20
_LONGEST_MESSAGE: Final = 300

Document = dict[str, Any]


class UnityError(Exception):
    """The server refuses a call; `kind` is its name for the error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message or kind)
        self.kind = kind


class NotUnityError(Exception):
    """The server is not one that registration can use, now or at all: its text says why."""


class Unity:
    """One connection; a context manager. Not thread-safe. It follows no redirect and uses no proxy.

    Every call raises UnityError when the server refuses it, NotUnityError when the server cannot do what is asked at
    all, and OSError or http.client.HTTPException when it does not answer within ten seconds. After all but the first
    the connection cannot be used any more.
    """

    def __init__(self, uri: str, token: str | None, ca_file: Path | None) -> None:
        parts = urlsplit(uri)
        self._prefix = parts.path.rstrip("/").removesuffix(_API)
        self._headers = {"Content-Type": "application/json", "User-Agent": "penstock"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        host = parts.hostname or ""
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            trusted = ssl.create_default_context(cafile=ca_file)
            self._connection = http.client.HTTPSConnection(host, parts.port, timeout=_SECONDS, context=trusted)
        else:
            self._connection = http.client.HTTPConnection(host, parts.port, timeout=_SECONDS)

    def __enter__(self) -> Self:
        self._connection.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def table(self, catalog: str, schema: str, name: str) -> Document | None:
        """Returns the metadata of a table (`DeltaTableMetadata`), None where there is none of that name."""
        try:
            answer = self._call("GET", _table(catalog, schema, name))
        except UnityError as error:
            if error.kind not in {"NoSuchTableException", "NoSuchSchemaException", "NoSuchCatalogException"}:
                raise
            return None
        return _metadata(answer)

    def create_table(self, catalog: str, schema: str, request: Mapping[str, Any]) -> None:
        """Creates a table; `request` is a `DeltaCreateTableRequest`."""
        self._call("POST", _tables(catalog, schema), request)

    def update_table(self, catalog: str, schema: str, name: str, request: Mapping[str, Any]) -> None:
        """Changes a table, all of `request` or nothing; it is a `DeltaUpdateTableRequest`."""
        self._call("POST", _table(catalog, schema, name), request)

    def delete_table(self, catalog: str, schema: str, name: str) -> None:
        """Removes the entry of an external table, and none of its files."""
        self._call("DELETE", _table(catalog, schema, name))

    def create_schema(self, catalog: str, name: str, comment: str) -> None:
        """Creates a schema; nothing happens to one that is there."""
        try:
            self._call("POST", f"{_API}/schemas", {"name": name, "catalog_name": catalog, "comment": comment})
        except UnityError as error:
            if error.kind != "SCHEMA_ALREADY_EXISTS":
                raise

    def _call(self, method: str, path: str, request: Mapping[str, Any] | None = None) -> Any:
        body = None if request is None else json.dumps(request).encode()
        self._connection.request(method, self._prefix + path, body, self._headers)
        response = self._connection.getresponse()
        content = response.read(_MOST_BYTES)
        answer = None
        with suppress(ValueError, RecursionError):
            answer = json.loads(content) if content else {}
        if 200 <= response.status < 300 and isinstance(answer, dict):
            return answer
        kind, message = _error(answer)
        if response.status == 401:
            raise NotUnityError(f"it refuses the token: {message or response.reason}")
        if kind is None or response.status == 429 or response.status >= 500:
            raise NotUnityError(f"it answers {response.status} {kind or response.reason} to {method} {path}")
        raise UnityError(kind, message)


def _tables(catalog: str, schema: str) -> str:
    return f"{_DELTA}/catalogs/{quote(catalog, safe='')}/schemas/{quote(schema, safe='')}/tables"


def _table(catalog: str, schema: str, name: str) -> str:
    return f"{_tables(catalog, schema)}/{quote(name, safe='')}"


def _error(answer: Any) -> tuple[str | None, str]:
    """Returns the name and the text of an error: the API for Delta and the older one have them at other places."""
    if not isinstance(answer, dict):
        return None, ""
    error = answer.get("error")
    kind, message = (error.get("type"), error.get("message")) if isinstance(error, dict) else (None, None)
    kind, message = kind or answer.get("error_code"), message or answer.get("message")
    return (kind if isinstance(kind, str) else None), str(message or "")[:_LONGEST_MESSAGE]


def _metadata(answer: Document) -> Document:
    """Returns the metadata of an answer, with all fields that registration reads."""
    found = answer.get("metadata")
    if isinstance(found, dict) and isinstance(found.get("table-uuid"), str) and isinstance(found.get("etag"), str):
        properties, columns = found.setdefault("properties", {}), found.setdefault("columns", {"fields": []})
        texts = isinstance(properties, dict) and all(isinstance(each, str) for each in properties.values())
        place = isinstance(found.get("location"), str | None)
        if texts and place and isinstance(columns, dict) and isinstance(columns.get("fields"), list):
            return found
    raise NotUnityError("its answer is not the metadata of a table")
