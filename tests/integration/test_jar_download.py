"""Ivy against a Maven repository on loopback: what is fetched, what is refused, what the user is told."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.processes import free_ports

from penstock.errors import ExternalError
from penstock.spark.session.setup import jars as jars_module
from penstock.spark.session.setup.jars import altered_jars, ensure_jars
from penstock.spark.session.setup.known_jars import JarSet, LockedJar

CONTENT = {"one": b"the first jar" * 100, "two": b"the second jar" * 100}


class Repository:
    """A Maven repository, or a proxy to one: answers any path that ends in a known jar."""

    def __init__(self) -> None:
        self.files = {f"/org/example/{name}/1.0/{name}-1.0.jar": content for name, content in CONTENT.items()}
        self.requests: list[str] = []
        self.password: str | None = None
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                repository.requests.append(self.path)
                granted = repository.password is None or self.headers["Authorization"] == repository.password
                content = next((body for end, body in repository.files.items() if self.path.endswith(end)), None)
                self.send_response(401 if not granted else 200 if content else 404)
                if not granted:
                    self.send_header("WWW-Authenticate", 'Basic realm="jars"')
                body = content if content and granted else b""
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def repository() -> Iterator[Repository]:
    server = Repository()
    yield server
    server.stop()


@pytest.fixture
def environ(repository: Repository, tmp_path: Path) -> dict[str, str]:
    return {"PENSTOCK_CACHE": str(tmp_path / "cache"), "PENSTOCK_MAVEN_MIRROR": f"http://{repository.address}/m2"}


@pytest.fixture(autouse=True)
def locked(monkeypatch: pytest.MonkeyPatch) -> JarSet:
    jars = tuple(
        LockedJar("org.example", name, "1.0", len(content), hashlib.sha256(content).hexdigest())
        for name, content in CONTENT.items()
    )
    known = JarSet("example", jars)
    monkeypatch.setattr(jars_module, "jar_sets", lambda: {"example": known})
    return known


def test_fetched_once_then_offline(repository: Repository, environ: dict[str, str]) -> None:
    said: list[str] = []
    fetched = ensure_jars("example", environ=environ, progress=said.append)
    assert [jar.read_bytes() for jar in fetched] == list(CONTENT.values())
    assert "Downloading one-1.0.jar (1 of 2)" in said
    assert altered_jars(environ=environ) == []
    repository.requests.clear()
    said.clear()
    assert ensure_jars("example", environ=environ, progress=said.append) == fetched
    assert (repository.requests, said) == ([], [])


def test_a_lost_file_is_fetched_again(environ: dict[str, str]) -> None:
    first, second = ensure_jars("example", environ=environ)
    first.unlink()
    second.write_bytes(b"x" * len(CONTENT["two"]))
    assert [error.facts["path"] for error in altered_jars(environ=environ)] == [str(second)]
    ensure_jars("example", environ=environ)
    assert altered_jars(environ=environ) == []


def test_a_jar_that_the_repository_lacks(repository: Repository, environ: dict[str, str], tmp_path: Path) -> None:
    repository.files = {path: body for path, body in repository.files.items() if "two" not in path}
    with pytest.raises(ExternalError) as raised:
        ensure_jars("example", environ=environ)
    assert raised.value.condition == "JARS_DOWNLOAD_FAILED"
    assert raised.value.facts["artifact"] == "org.example:two:1.0"
    assert raised.value.facts["repository"] == environ["PENSTOCK_MAVEN_MIRROR"]
    assert raised.value.exit_code == 1
    assert list((tmp_path / "cache" / "jars").glob("*.jar")) == []
    assert not list((tmp_path / "cache" / "jars").glob("example-*"))


def test_a_repository_that_does_not_answer(environ: dict[str, str]) -> None:
    [closed] = free_ports(1)
    environ["PENSTOCK_MAVEN_MIRROR"] = f"http://me:hunter2@127.0.0.1:{closed}/m2"
    with pytest.raises(ExternalError) as raised:
        ensure_jars("example", environ=environ)
    assert raised.value.condition == "JARS_DOWNLOAD_FAILED"
    assert raised.value.facts["repository"] == f"http://127.0.0.1:{closed}/m2"
    assert "Connection refused" in raised.value.facts["reason"]
    assert "hunter2" not in str(raised.value.facts)


def test_an_altered_jar_is_refused_and_not_kept(
    repository: Repository, environ: dict[str, str], locked: JarSet, tmp_path: Path
) -> None:
    altered = b"evil" * 10
    repository.files["/org/example/two/1.0/two-1.0.jar"] = altered
    with pytest.raises(ExternalError) as raised:
        ensure_jars("example", environ=environ)
    assert raised.value.condition == "JARS_CHECKSUM_MISMATCH"
    assert raised.value.facts == {
        "artifact": "org.example:two:1.0",
        "expected": locked.jars[1].sha256,
        "actual": hashlib.sha256(altered).hexdigest(),
    }
    assert not list((tmp_path / "cache" / "jars").glob("example-*"))


def test_a_repository_with_a_password(repository: Repository, environ: dict[str, str]) -> None:
    repository.password = "Basic " + base64.b64encode(b"me:hunter2").decode()
    with pytest.raises(ExternalError):
        ensure_jars("example", environ=environ)
    environ["PENSTOCK_MAVEN_MIRROR"] = f"http://me:hunter2@{repository.address}/m2"
    assert len(ensure_jars("example", environ=environ)) == 2


def test_through_a_proxy(repository: Repository, environ: dict[str, str]) -> None:
    environ["PENSTOCK_MAVEN_MIRROR"] = "http://maven.invalid/m2"
    environ["HTTP_PROXY"] = f"http://{repository.address}"
    assert len(ensure_jars("example", environ=environ)) == 2
    assert "http://maven.invalid/m2/org/example/one/1.0/one-1.0.jar" in repository.requests


def test_two_at_once_fetch_once(repository: Repository, environ: dict[str, str]) -> None:
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ensure_jars, "example", environ=environ, progress=said.append) for _ in range(2)]
        assert both[0].result() == both[1].result()
    assert len([line for line in said if line.startswith("Fetching")]) == 1


def test_a_new_lock_is_another_folder(
    environ: dict[str, str], locked: JarSet, monkeypatch: pytest.MonkeyPatch, repository: Repository
) -> None:
    before = ensure_jars("example", environ=environ)
    newer = b"newer" * 100
    repository.files["/org/example/one/1.0/one-1.0.jar"] = newer
    changed = replace(locked.jars[0], size=len(newer), sha256=hashlib.sha256(newer).hexdigest())
    monkeypatch.setattr(jars_module, "jar_sets", lambda: {"example": JarSet("example", (changed, locked.jars[1]))})
    after = ensure_jars("example", environ=environ)
    assert before[0].parent != after[0].parent
    assert before[0].read_bytes() == CONTENT["one"]
