"""Serves the metrics over HTTP, where Prometheus looks for them."""

from __future__ import annotations

import hmac
import http.server
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from penstock.config import MetricsSettings
from penstock.config.values.authority import Authority, is_loopback
from penstock.errors import ConfigError
from penstock.events import UpdateState
from penstock.metrics.definitions import UPDATE_STATE

_TIMEOUT_SECONDS: Final = 10.0
_CONNECTIONS: Final = 64
_NO_DESCRIPTORS_PAUSE: Final = 1.0


class MetricsEndpoint:
    """Answers GET `/metrics`, in threads of its own: 64 at most, each for ten seconds at most.

    `/livez` answers 200 while the run can answer at all, `/readyz` 200 while its update is RUNNING and else 503, as
    Kubernetes' API server names them; they tell nothing else, so they take no token.

    On a loopback address it answers only to names of this machine, so that no web page can read it through a name
    that it rebinds. Any other address takes a certificate and a token.

    Raises:
        ConfigError: METRICS_ADDRESS_REFUSED, METRICS_PORT_TAKEN, SECRET_NOT_FOUND.
    """

    def __init__(self, registry: CollectorRegistry, settings: MetricsSettings) -> None:
        loopback = is_loopback(settings.address)
        if not loopback and (settings.certificate is None or settings.token is None):
            raise ConfigError("METRICS_ADDRESS_REFUSED", address=settings.address)
        token = None if settings.token is None else settings.token.resolve()
        handler = type("Handler", (_Handler,), {"registry": registry, "token": token, "loopback": loopback})
        try:
            self._server = _Server((settings.address, settings.port or 0), handler, _context(settings))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                "METRICS_PORT_TAKEN", address=settings.address, port=settings.port, reason=reason
            ) from None
        scheme = "http" if settings.certificate is None else "https"
        self.url = f"{scheme}://{settings.address}:{self._server.server_address[1]}/metrics"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops answering and gives the port back."""
        self._server.shutdown()
        self._server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = _CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: Any, context: ssl.SSLContext | None) -> None:
        self._context = context
        # By the accepted socket, and not by the client's address, which a new connection may have before the old one
        # is forgotten: what carries the bytes (TLS wraps the socket), and since when.
        self._open: dict[socket.socket, tuple[socket.socket, float]] = {}
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def get_request(self) -> Any:
        """Accepts a connection; without a descriptor for it, the loop would try again at once and for ever."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(_NO_DESCRIPTORS_PAUSE)
            raise

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Closes a connection that is one too many."""
        return len(self._open) < _CONNECTIONS

    def process_request(self, request: Any, client_address: Any) -> None:
        """Notes since when the connection is there, and answers in a thread."""
        self._open[request] = request, time.monotonic()
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            del self._open[request]
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers in the request's thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._open[request]

    def service_actions(self) -> None:
        """Ends the connections that last too long, however many bytes trickle in; called ten times a second."""
        for connection, since in tuple(self._open.values()):
            if time.monotonic() - since > _TIMEOUT_SECONDS:
                with suppress(OSError):  # its thread has closed it
                    connection.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answers; the handshake is in the request's thread too: a reader that does nothing holds up no other."""
        if self._context is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(_TIMEOUT_SECONDS)
        with self._context.wrap_socket(request, server_side=True, do_handshake_on_connect=False) as secured:
            _, since = self._open[request]
            self._open[request] = secured, since
            secured.do_handshake()
            super().finish_request(secured, client_address)

    def handle_error(self, *_: Any) -> None:
        """A reader that went away is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request; nothing of it is logged."""

    registry: CollectorRegistry
    token: str | None
    loopback: bool
    timeout = _TIMEOUT_SECONDS
    server_version = "penstock"
    sys_version = ""

    def do_GET(self) -> None:
        if self.loopback and not _names_this_machine(self.headers.get_all("Host", [])):
            self._answer(421, "text/plain", b"Metrics are for this machine only.\n")
        elif (path := self.path.partition("?")[0]) in {"/livez", "/readyz"}:
            ready = path == "/livez" or _is_running(self.registry)
            self._answer(200 if ready else 503, "text/plain", b"ok\n" if ready else b"The update is not RUNNING.\n")
        elif not self._may_read():
            self._answer(401, "text/plain", b"A bearer token is needed.\n")
        elif path not in {"/", "/metrics"}:
            self._answer(404, "text/plain", b"Metrics are at /metrics.\n")
        else:
            encode, content_type = choose_encoder(self.headers.get("Accept", ""))
            self._answer(200, content_type, encode(self.registry))

    def log_message(self, *_: Any) -> None:
        pass

    def _may_read(self) -> bool:
        if self.token is None:
            return True
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)


def _is_running(registry: CollectorRegistry) -> bool:
    samples = (sample for family in registry.collect() if family.name == UPDATE_STATE.name for sample in family.samples)
    return any(sample.labels.get("state") == UpdateState.RUNNING.value and sample.value == 1 for sample in samples)


def _context(settings: MetricsSettings) -> ssl.SSLContext | None:
    if settings.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError("METRICS_CERTIFICATE_UNREADABLE", path=settings.certificate, reason=reason) from None
    return context


def _names_this_machine(hosts: list[str]) -> bool:
    requested = Authority.parse(hosts[0]) if len(hosts) == 1 else None
    return requested is not None and requested.is_loopback()
