"""What fake-gcs-server leaves out of Google Cloud Storage and its clients need: logins, moves, and the XML API.

delta-rs writes and lists by the XML API, of which the server only has reads. Here such a request becomes one of the
JSON API, and so does a move, so that it is the server that compares generations. Logins are tokens of service
accounts: one that the front has given out, or a JWT that the client has signed itself.

It is a process of its own, since delta-rs lets no other Python run while it waits: `-m tests.integration.gcs_front
PORT PORT_OF_THE_SERVER`.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

from tests.http_proxy import Answer, HttpProxy, reply

KEY_ID: Final = "key-of-the-tests"
"""The id of the key of the one service account that is let in."""

_TOKEN: Final = "ya29.token-of-the-tests"
_MOVE: Final = re.compile(r"(?P<bucket>/storage/v1/b/[^/]+)/o/(?P<source>[^/]+)/moveTo/o/(?P<target>[^/]+)$")
_JSON_API: Final = ("storage", "upload", "download", "batch", "_internal")


class GcsFront(HttpProxy):
    """The address that clients of the tests get."""

    def handle(self, request: BaseHTTPRequestHandler, content: bytes) -> None:
        """Answers a request."""
        reply(request, self._answer(request, content))

    def _answer(self, request: BaseHTTPRequestHandler, content: bytes) -> Answer:
        url = urlsplit(request.path)
        first, _, rest = url.path.lstrip("/").partition("/")
        if first == "token":
            [assertion] = parse_qs(content.decode())["assertion"]
            if not _is_known(assertion):
                return _json(400, {"error": "invalid_grant", "error_description": "Invalid grant: account not found"})
            return _json(200, {"access_token": _TOKEN, "token_type": "Bearer", "expires_in": 3600})
        if not _is_known(request.headers.get("Authorization", "").removeprefix("Bearer ")):
            message = "Request had invalid authentication credentials."
            return _json(401, {"error": {"code": 401, "message": message, "errors": [{"reason": "authError"}]}})
        if (move := _MOVE.match(url.path)) is not None:
            return self._move(request, parse_qs(url.query), **move.groupdict())
        if first in _JSON_API:
            return self.ask(request, content)
        bucket = unquote(first)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if not rest:
            return self._list(request, bucket, query)
        if request.command in {"POST", "PATCH"} or query:
            return _xml(501, "<Error><Code>NotImplemented</Code><Message>not in the tests' front</Message></Error>")
        return self._object(request, content, bucket, quote(unquote(rest), safe=""))

    def _move(
        self, request: BaseHTTPRequestHandler, query: dict[str, list[str]], bucket: str, source: str, target: str
    ) -> Answer:
        """Moves an object, where the server decides whether the new name is free."""
        found = self.ask(request, b"", command="GET", path=f"/download{bucket}/o/{source}?alt=media")
        if found.status != 200:
            return _json(404, {"error": {"code": 404, "message": "Not Found"}})
        upload = {"uploadType": "media", "name": unquote(target)}
        if "ifGenerationMatch" in query:
            upload["ifGenerationMatch"] = query["ifGenerationMatch"][0]
        moved = self.ask(request, found.body, path=f"/upload{bucket}/o?{urlencode(upload)}")
        if moved.status == 200:
            self.ask(request, b"", command="DELETE", path=f"{bucket}/o/{source}")
        return moved

    def _list(self, request: BaseHTTPRequestHandler, bucket: str, asked: dict[str, str]) -> Answer:
        offset = asked.get("start-after", "")
        names = {"prefix": "prefix", "delimiter": "delimiter", "continuation-token": "pageToken"}
        query = {"maxResults": "1000", "startOffset": offset} | {
            name: asked[key] for key, name in names.items() if key in asked
        }
        answer = self.ask(request, b"", path=f"/storage/v1/b/{bucket}/o?{urlencode(query)}")
        if answer.status != 200:
            return _no_bucket()
        found = json.loads(answer.body)
        text = "".join(_entry(each) for each in found.get("items", []) if each["name"] != offset)
        prefixes = found.get("prefixes", [])
        text += "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in prefixes)
        if token := found.get("nextPageToken"):
            text += f"<NextContinuationToken>{escape(token)}</NextContinuationToken>"
        return _xml(200, f"<ListBucketResult><Name>{bucket}</Name>{text}</ListBucketResult>")

    def _object(self, request: BaseHTTPRequestHandler, content: bytes, bucket: str, key: str) -> Answer:
        if request.command == "PUT":
            query = {"uploadType": "media", "name": unquote(key)}
            if (generation := request.headers.get("x-goog-if-generation-match")) is not None:
                query["ifGenerationMatch"] = generation
            upload = f"/upload/storage/v1/b/{bucket}/o?{urlencode(query)}"
            answer = self.ask(request, content, command="POST", path=upload)
            if answer.status == 404:
                return _no_bucket()
            if answer.status != 200:
                return answer
            written = json.loads(answer.body)
            return Answer(200, [("ETag", f'"{written["etag"]}"'), ("x-goog-generation", written["generation"])])
        if request.command == "DELETE":
            return self.ask(request, b"", path=f"/storage/v1/b/{bucket}/o/{key}")
        return self.ask(request, b"", path=f"/download/storage/v1/b/{bucket}/o/{key}?alt=media")


def _is_known(token: str) -> bool:
    if token == _TOKEN:
        return True
    head = token.partition(".")[0]
    try:
        return bool(json.loads(base64.urlsafe_b64decode(f"{head}==")).get("kid") == KEY_ID)
    except ValueError:
        return False


def _entry(found: dict[str, Any]) -> str:
    values = {"Key": "name", "Size": "size", "LastModified": "updated", "ETag": "etag", "Generation": "generation"}
    return f"<Contents>{''.join(f'<{tag}>{escape(str(found[key]))}</{tag}>' for tag, key in values.items())}</Contents>"


def _json(status: int, document: dict[str, Any]) -> Answer:
    return Answer(status, [("Content-Type", "application/json")], json.dumps(document).encode())


def _xml(status: int, text: str) -> Answer:
    return Answer(
        status, [("Content-Type", "application/xml")], f"<?xml version='1.0' encoding='UTF-8'?>{text}".encode()
    )


def _no_bucket() -> Answer:
    message = "<Message>The specified bucket does not exist.</Message>"
    return _xml(404, f"<Error><Code>NoSuchBucket</Code>{message}</Error>")


if __name__ == "__main__":
    GcsFront(behind=int(sys.argv[2]), port=int(sys.argv[1])).serve()
