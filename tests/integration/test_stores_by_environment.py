"""S3, Azure and Kinesis as a company has them: TLS by an authority of its own, keys in a profile, none in settings."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.certificates import Authority
from tests.cli_runner import penstock
from tests.integration.kinesis_server import KinesisServer
from tests.integration.moto_server import REGION
from tests.integration.s3_server import S3Server
from tests.integration.store_server import EACH_STORE, store_server
from tests.integration.tls_front import TlsFront
from tests.oracle.tables import read_table, stored

from penstock.connectors.kinesis.client import KinesisClient
from penstock.connectors.kinesis.options import parse_options
from penstock.spark.failures.python_sources import SourceFailure
from penstock.spark.session.setup.ivy import PASSWORD, java_key_store

_EACH_CLIENT = """
import json, sys
from penstock.errors import PenstockError
from penstock.storage import Storage
from penstock.storage.delta.table import is_delta_table
from penstock.storage.stores.settings import use_store_settings
from penstock.storage.stores.stores import store_of

place = sys.argv[1]
clients = {
    "files": lambda: Storage(place).exists("in"),
    "tables": lambda: is_delta_table(f"{place}/orders"),
    "objects": lambda: store_of(place).stored_object(f"{place}/lock").read(),
}
answers = {}
for name, settings in json.load(sys.stdin).items():
    use_store_settings(lambda: settings)
    for client, ask in clients.items():
        try:
            ask()
            answers[f"{client} {name}"] = ""
        except PenstockError as error:
            answers[f"{client} {name}"] = error.condition
print(json.dumps(answers))
"""
_PIPELINE = """
import dlt

@dlt.table(path="s3a://lake/tables/orders")
def orders():
    return spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("s3a://lake/in")

@dlt.table
def records():
    read = spark.readStream.format("kinesis").option("streamName", "orders").option("region", "{region}")
    read = read.option("endpointUrl", "{kinesis}").option("initialPosition", "trim_horizon")
    return read.load().selectExpr("CAST(data AS STRING) AS data")
"""
_WITHOUT_KEYS = {"access.key": "", "secret.key": ""}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def own(authority: Authority) -> Path:
    return authority.sign("localhost", "DNS:localhost,IP:127.0.0.1")


@pytest.fixture(scope="module")
def foreign(authority: Authority) -> Path:
    return authority.sign("elsewhere", "DNS:elsewhere.example")


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        server.bucket("lake")
        yield server


@pytest.mark.parametrize("kind", EACH_STORE)
def test_a_store_is_trusted_by_the_environment_and_a_certificate_of_another_host_is_named(
    kind: str, authority: Authority, own: Path, foreign: Path, tmp_path: Path
) -> None:
    trusting = dict.fromkeys(("SSL_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"), str(authority.certificate))
    with (
        store_server(kind, tmp_path) as store,
        TlsFront(own, store.port) as right,
        TlsFront(foreign, store.port) as wrong,
    ):
        place = store.bucket("lake").replace("abfs:", "abfss:")
        fronts = {"own": right, "foreign": wrong}
        asked = {name: store.settings_at(front.address, tls=True) for name, front in fronts.items()}
        command = [sys.executable, "-c", _EACH_CLIENT, place]
        environ = {**os.environ, **trusting}  # of another process: pyarrow looks into it once
        done = subprocess.run(
            command, input=json.dumps(asked), env=environ, stdout=PIPE, text=True, timeout=60, check=True
        )
    clients = ("files", "tables", "objects")
    taken = {f"{client} own": "" for client in clients}
    assert json.loads(done.stdout) == taken | {f"{client} foreign": "OBJECT_STORE_TLS_FAILED" for client in clients}


def test_kinesis_is_trusted_by_the_environment_and_any_other_certificate_is_named(
    kinesis: KinesisServer, authority: Authority, own: Path, foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinesis.create("trusted")

    def shards(endpoint: str) -> int:
        options = parse_options(kinesis.options("trusted", endpointUrl=endpoint))
        return len(KinesisClient.connect(options).shards("trusted"))

    with TlsFront(own, kinesis.port) as right, TlsFront(foreign, kinesis.port) as wrong:
        for endpoint in (right.endpoint, kinesis.endpoint.replace("http:", "https:")):  # a stranger, and no TLS
            with pytest.raises(SourceFailure) as stranger:
                shards(endpoint)
            assert stranger.value.condition == "KINESIS_TLS_FAILED"
        monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.certificate))
        with pytest.raises(SourceFailure) as other_host:
            shards(wrong.endpoint)
        assert shards(right.endpoint) == 1
    told = other_host.value.error()
    assert (told.condition, told.retryable) == ("KINESIS_TLS_FAILED", False)
    assert wrong.endpoint in told.message


@pytest.mark.slow
def test_a_pipeline_with_nothing_of_it_in_its_settings(
    s3: S3Server, kinesis: KinesisServer, authority: Authority, own: Path, tmp_path: Path
) -> None:
    s3.put("lake", "in/1.json", [{"id": 1}, {"id": 2}])
    kinesis.create("orders")
    kinesis.put("orders", ["a", "b"])
    trusted = tmp_path / "trusted.jks"
    trusted.write_bytes(java_key_store([ssl.PEM_cert_to_DER_cert(authority.certificate.read_text())]))
    java = f"-Djavax.net.ssl.trustStore={trusted} -Djavax.net.ssl.trustStorePassword={PASSWORD}"
    known = s3.key("reader")
    profiles = {"known": known, "denied": ("DENIED", "x")}
    credentials = tmp_path / "credentials"
    for name, (key, secret) in profiles.items():
        with credentials.open("a") as file:
            file.write(f"[{name}]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
    trust = {name: str(authority.certificate) for name in ("SSL_CERT_FILE", "AWS_CA_BUNDLE")}
    environ = {**trust, "AWS_SHARED_CREDENTIALS_FILE": str(credentials)}
    project = tmp_path / "project"
    with TlsFront(own, s3.port) as store, TlsFront(own, kinesis.port) as stream:
        settings = s3.settings(endpoint=store.endpoint, **_WITHOUT_KEYS)
        given = {key: value for key, value in settings.items() if value} | {"spark.driver.extraJavaOptions": java}
        (project / "transformations").mkdir(parents=True)
        written = _PIPELINE.format(region=REGION, kinesis=stream.endpoint)
        (project / "transformations/pipeline.py").write_text(written)
        document = {"name": "chain", "schema": "shop", "spark_conf": given, "retries": {"max_flow_retries": 0}}
        (project / "penstock.yml").write_text(json.dumps(document))
        with s3.checking_credentials():
            denied = penstock("run", project, "--json", environ={**environ, "AWS_PROFILE": "denied"})
            allowed = penstock("run", project, "--json", environ={**environ, "AWS_PROFILE": "known"})
            shown = penstock("show", "orders", project, "--json", environ={**environ, "AWS_PROFILE": "known"})
    assert denied.exit_code != 0
    assert {error["condition"] for error in denied.errors} & {"OBJECT_STORE_ACCESS_DENIED"}, denied
    assert allowed.exit_code == 0, allowed
    assert shown.exit_code == 0, shown
    assert sorted(row["data"] for row in read_table(stored(project / ".penstock", "shop", "records"))) == ["a", "b"]
