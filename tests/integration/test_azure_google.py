"""Azure's and Google's clients for Spark are fetched and started, and what they are refused is named.

A server on loopback refuses whoever logs in.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.certificates import Authority
from tests.cli_runner import penstock
from tests.integration.tls_front import TlsFront
from tests.processes import free_ports

from penstock.spark.session.setup.ivy import java_key_store

_PIPELINE = """
import dlt

PLACES = {
    "no_key": "abfss://raw@127.0.0.1/in",
    "key_refused": "abfss://raw@{trusted}/in",
    "stranger": "abfss://raw@{foreign}/in",
    "login_refused": "abfss://raw@{oauth}/in",
    "google_refused": "gs://raw/in",
}


def declare(name, place):
    @dlt.table(name=name)
    def rows():
        return spark.read.schema("id INT").json(place)


for name, place in PLACES.items():
    declare(name, place)
"""
_CONDITIONS = {
    "no_key": "OBJECT_STORE_CREDENTIALS_MISSING",
    "key_refused": "OBJECT_STORE_ACCESS_DENIED",
    "stranger": "OBJECT_STORE_TLS_FAILED",
    "login_refused": "OBJECT_STORE_ACCESS_DENIED",
    "google_refused": "OBJECT_STORE_ACCESS_DENIED",
}
_CANARY = base64.b64encode(b"canary of a key").decode()


class _Refusing(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST = do_PUT = _refuse  # noqa: N815 - the names of the standard library

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - as above
        return


@pytest.fixture
def refusing() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_clients_are_there_and_what_is_wrong_is_named(tmp_path: Path, refusing: int) -> None:
    oauth = f"127.0.0.1:{free_ports(1)[0]}"
    key, login = "fs.azure.account.key", "fs.azure.account"
    authority = Authority(tmp_path / "keys")
    authority.sign("google", "DNS:localhost")
    trusting = tmp_path / "trusted.jks"
    trusting.write_bytes(java_key_store([ssl.PEM_cert_to_DER_cert(authority.certificate.read_text())]))
    service_account = {
        "type": "service_account",
        "project_id": "shop",
        "private_key_id": "1",
        "private_key": (tmp_path / "keys/google.key").read_text(),
        "client_email": "reader@shop.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"http://127.0.0.1:{refusing}/token",
    }
    (tmp_path / "google.json").write_text(json.dumps(service_account))
    settings = {
        f"{login}.auth.type.{oauth}": "OAuth",
        f"{login}.oauth.provider.type.{oauth}": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
        f"{login}.oauth2.client.id.{oauth}": "reader",
        f"{login}.oauth2.client.secret.{oauth}": "${secret:azure}",
        f"{login}.oauth2.client.endpoint.{oauth}": f"http://127.0.0.1:{refusing}/token",
        "fs.azure.io.retry.max.retries": "1",
        "fs.azure.oauth.token.fetch.retry.max.retries": "1",
        "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
        "fs.gs.auth.service.account.json.keyfile": str(tmp_path / "google.json"),
    }
    hosts = {"trusted": "IP:127.0.0.1", "foreign": "DNS:elsewhere.example"}
    with ExitStack() as fronts:
        text = _PIPELINE.replace("{oauth}", oauth)
        for name, host in hosts.items():
            front = fronts.enter_context(TlsFront(authority.sign(name, host), refusing))
            address = front.endpoint.removeprefix("https://")
            text = text.replace(f"{{{name}}}", address)
            settings[f"{key}.{address}"] = "${secret:azure}"
        (tmp_path / "pipeline.py").write_text(text)
        spark_conf = {f"spark.hadoop.{name}": value for name, value in settings.items()}
        spark_conf["spark.driver.extraJavaOptions"] = f"-Djavax.net.ssl.trustStore={trusting}"
        document = {"name": "clouds", "secrets": {"azure": "${env:AZURE_KEY}"}, "schema": "shop"}
        (tmp_path / "penstock.yml").write_text(json.dumps({**document, "spark_conf": spark_conf}))
        outcome = penstock("validate", tmp_path, "--json", environ={"AZURE_KEY": _CANARY})
    told = {str(error["dataset"]).removeprefix("shop."): error["condition"] for error in outcome.errors}
    assert {name: told.get(name) for name in _CONDITIONS} == _CONDITIONS, outcome
    assert _CANARY not in outcome.stdout + outcome.stderr
