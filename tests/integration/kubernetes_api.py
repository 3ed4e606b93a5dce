"""A small Kubernetes API on loopback, written from the API's documentation: it keeps objects.

It is what Spark's own Kubernetes client talks to. Requests can be refused as an API server refuses them; pods stay
Pending, with the status that a kubelet or the scheduler would write, unless there is a kubelet, which runs them as
processes of this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

_REASONS = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound"}
_KINDS = {
    "pods": "Pod",
    "configmaps": "ConfigMap",
    "services": "Service",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why requests fail: an HTTP status and the API's text. `verb` and `resource` say which ones; "" is any."""

    status: int
    message: str
    verb: str = ""
    resource: str = ""


def forbidden(verb: str, resource: str) -> Refusal:
    """What a service account without the right is told."""
    method = {"create": "POST", "list": "GET", "watch": "GET"}[verb]
    user = "system:serviceaccount:default:pipelines"
    message = f'{resource} is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group "" in the '
    return Refusal(403, message + 'namespace "default"', method, resource)


def image_cannot_be_pulled(image: str) -> dict[str, Any]:
    """The status of a pod whose container waits for an image that is not there."""
    message = f'failed to pull and unpack image "{image}": not found'
    waiting = {"reason": "ErrImagePull", "message": message}
    container = {"name": "spark-kubernetes-executor", "image": image, "ready": False, "restartCount": 0}
    return {"phase": "Pending", "containerStatuses": [{**container, "imageID": "", "state": {"waiting": waiting}}]}


def unschedulable(message: str) -> dict[str, Any]:
    """The status of a pod for which no node has room."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


class Kubelet:
    """Runs the first container of each pod as a process in a folder of its own, with the variables of its manifest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.pods: list[dict[str, Any]] = []
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Starts a pod and returns its status."""
        name, [container, *_] = pod["metadata"]["name"], pod["spec"]["containers"]
        self.pods.append(pod)
        facts = {"status.podIP": "127.0.0.1", "metadata.name": name}
        environ = {
            each["name"]: each.get("value") or facts[each["valueFrom"]["fieldRef"]["fieldPath"]]
            for each in container["env"]
            if each.get("value") or "fieldRef" in each.get("valueFrom", {})
        }
        place = self._folder / name
        place.mkdir(parents=True)
        inherited = {key: os.environ[key] for key in ("PATH", "JAVA_HOME", "JAVA_TOOL_OPTIONS") if key in os.environ}
        inherited["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), inherited["PATH"]])
        with (place / "log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [*container["command"], *container["args"]],
                cwd=place,
                env={**inherited, **environ, "HOME": str(place)},
                stdout=log,
                stderr=log,
            )
        state = {"running": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}
        status = {
            "name": container["name"],
            "image": "",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": state,
        }
        return {"phase": "Running", "podIP": "127.0.0.1", "containerStatuses": [status]}

    def end(self, name: str) -> None:
        """Ends a pod, if it runs."""
        if (process := self._processes.pop(name, None)) is not None:
            process.kill()
            process.wait()

    def end_all(self) -> None:
        """Ends all that run."""
        for name in tuple(self._processes):
            self.end(name)


@dataclass(slots=True)
class KubernetesApi:
    """One API server; a context manager. `requests` are the methods and paths that were asked for."""

    refusals: list[Refusal] = field(default_factory=list)
    pod_status: Mapping[str, Any] = field(default_factory=lambda: {"phase": "Pending"})
    requests: list[tuple[str, str]] = field(default_factory=list)
    kubelet: Kubelet | None = None
    _objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _version: int = 1
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _server: ThreadingHTTPServer | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> KubernetesApi:
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self.ended.set()
        if self.kubelet:
            self.kubelet.end_all()
        self._server.shutdown()
        self._server.server_close()

    @property
    def master(self) -> str:
        """The address as `master` in `penstock.yml` spells it."""
        assert self._server is not None
        return f"k8s://http://127.0.0.1:{self._server.server_address[1]}"

    def created(self, resource: str) -> list[dict[str, Any]]:
        """Returns the objects of one kind that exist."""
        with self._lock:
            return [each for (kind, _), each in self._objects.items() if kind == resource]

    def refusal(self, verb: str, resource: str) -> Refusal | None:
        """Returns why a request is refused; None when it is not."""
        for each in self.refusals:
            if each.verb in {"", verb} and each.resource in {"", resource}:
                return each
        return None

    def create(self, resource: str, given: dict[str, Any]) -> dict[str, Any]:
        """Keeps an object as the API would: with an id, a version and, of a pod, a status."""
        with self._lock:
            self._version += 1
            metadata = given["metadata"]
            metadata |= {"uid": str(uuid.uuid4()), "resourceVersion": str(self._version), "namespace": "default"}
            metadata["creationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            if resource == "pods":
                given["status"] = self.kubelet.run(given) if self.kubelet else dict(self.pod_status)
            self._objects[resource, metadata["name"]] = given
            return given

    def get(self, resource: str, name: str) -> dict[str, Any] | None:
        """Returns one object, or None."""
        with self._lock:
            return self._objects.get((resource, name))

    def delete(self, resource: str, name: str) -> dict[str, Any] | None:
        """Forgets one object, which it returns."""
        with self._lock:
            if resource == "pods" and self.kubelet:
                self.kubelet.end(name)
            return self._objects.pop((resource, name), None)

    def verbs(self) -> set[tuple[str, str]]:
        """Returns what was asked for as the rules of a Role say it: resource and verb."""
        return {_rule(method, path) for method, path in self.requests if "/namespaces/" in path}

    def listed(self, resource: str) -> dict[str, Any]:
        """Returns all objects of one kind; Spark's are all of one application."""
        with self._lock:
            version = {"resourceVersion": str(self._version)}
        kind = f"{_KINDS.get(resource, resource)}List"
        return {"kind": kind, "apiVersion": "v1", "metadata": version, "items": self.created(resource)}

    def changes(self, resource: str) -> Iterator[dict[str, Any]]:
        """Yields an event for each object of one kind until the server ends; what is deleted is not told."""
        told: set[str] = set()
        while not self.ended.wait(0.1):
            for each in self.created(resource):
                if each["metadata"]["uid"] not in told:
                    told.add(each["metadata"]["uid"])
                    yield {"type": "ADDED", "object": each}


def _rule(method: str, path: str) -> tuple[str, str]:
    url = urlsplit(path)
    resource, _, name = url.path.partition("/namespaces/")[2].partition("/")[2].partition("/")
    if method == "GET" and not name:
        return resource, "watch" if parse_qs(url.query).get("watch") == ["true"] else "list"
    of_one = {"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete" if name else "deletecollection"}
    return resource, of_one[method]


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    api: KubernetesApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        resource, name, query = self._asked()
        if self._refused(resource):
            return
        if name:
            self._found(self.api.get(resource, name))
        elif query.get("watch") == ["true"] and "Upgrade" not in self.headers:  # the client falls back from WebSocket
            self._stream(resource)
        else:
            self._answer(200, self.api.listed(resource))

    def do_POST(self) -> None:
        resource, _, _ = self._asked()
        given = self._body()
        if not self._refused(resource):
            self._answer(201, self.api.create(resource, given))

    def do_PATCH(self) -> None:
        resource, name, _ = self._asked()
        self._body()
        if not self._refused(resource):
            self._found(self.api.get(resource, name))

    def do_DELETE(self) -> None:
        resource, name, _ = self._asked()
        self._body()
        if self._refused(resource):
            return
        if name:
            self._found(self.api.delete(resource, name))
            return
        for each in self.api.created(resource):
            self.api.delete(resource, each["metadata"]["name"])
        self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def log_message(self, *_: Any) -> None:
        """Says nothing: `requests` has what was asked for."""

    def _asked(self) -> tuple[str, str, dict[str, list[str]]]:
        """Returns the resource and name of `/api/v1/namespaces/NAMESPACE/RESOURCE[/NAME]`, and the query."""
        url = urlsplit(self.path)
        self.api.requests.append((self.command, self.path))
        _, _, inside = url.path.partition("/namespaces/")
        _, resource, name = [*inside.split("/"), "", "", ""][:3]
        return resource, name, parse_qs(url.query)

    def _body(self) -> dict[str, Any]:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return dict(json.loads(content)) if content else {}

    def _refused(self, resource: str) -> bool:
        refusal = self.api.refusal(self.command, resource)
        if refusal is not None:
            self._fail(refusal.status, refusal.message)
        return refusal is not None

    def _found(self, found: dict[str, Any] | None) -> None:
        if found is None:
            self._fail(404, "not found")
        else:
            self._answer(200, found)

    def _fail(self, status: int, message: str) -> None:
        told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
        self._answer(status, {**told, "reason": _REASONS[status], "code": status})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, resource: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for change in self.api.changes(resource):
            line = json.dumps(change).encode() + b"\n"
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
