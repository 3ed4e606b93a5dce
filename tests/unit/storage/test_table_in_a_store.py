"""Asking an object store for a table, while this process has other things to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from penstock.storage.delta.table import is_delta_table
from penstock.storage.stores.settings import use_store_settings

LISTED = b'<?xml version="1.0"?><ListBucketResult><Name>lake</Name><KeyCount>0</KeyCount></ListBucketResult>'


class Empty(BaseHTTPRequestHandler):
    """An S3 bucket without objects."""

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(LISTED)))
        self.end_headers()
        self.wfile.write(LISTED)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def bucket() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = {
        "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{server.server_port}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "secret",
    }
    use_store_settings(lambda: endpoint)
    yield "s3a://lake"
    use_store_settings(dict)
    server.shutdown()


def test_threads_go_on_while_a_store_is_asked_for_a_table(bucket: str) -> None:
    """The store is one of them: if this process stood still until it answers, it never would."""
    assert not is_delta_table(f"{bucket}/orders")
