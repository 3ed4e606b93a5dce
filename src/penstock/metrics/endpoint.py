"""Serves the metrics over HTTP, where Prometheus looks for them."""

from __future__ import annotations

import hmac
import ssl

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from penstock.access.bounded_http import BoundedServer, QuietHandler
from penstock.config import MetricsSettings
from penstock.config.values.authority import is_loopback
from penstock.errors import ConfigError
from penstock.events import UpdateState
from penstock.metrics.definitions import UPDATE_STATE


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
            self._server = BoundedServer((settings.address, settings.port or 0), handler, _context(settings))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                "METRICS_PORT_TAKEN", address=settings.address, port=settings.port, reason=reason
            ) from None
        scheme = "http" if settings.certificate is None else "https"
        self.url = f"{scheme}://{settings.address}:{self._server.port}/metrics"
        self._server.start("metrics")

    def close(self) -> None:
        """Stops answering and gives the port back."""
        self._server.close()


class _Handler(QuietHandler):
    registry: CollectorRegistry
    token: str | None
    loopback: bool

    def respond(self) -> None:
        if self.loopback and not self.names_this_machine():
            self.answer(421, "text/plain", b"Metrics are for this machine only.\n")
        elif (path := self.path.partition("?")[0]) in {"/livez", "/readyz"}:
            ready = path == "/livez" or _is_running(self.registry)
            self.answer(200 if ready else 503, "text/plain", b"ok\n" if ready else b"The update is not RUNNING.\n")
        elif not self._may_read():
            self.answer(401, "text/plain", b"A bearer token is needed.\n")
        elif path not in {"/", "/metrics"}:
            self.answer(404, "text/plain", b"Metrics are at /metrics.\n")
        else:
            encode, content_type = choose_encoder(self.headers.get("Accept", ""))
            self.answer(200, content_type, encode(self.registry))

    def _may_read(self) -> bool:
        if self.token is None:
            return True
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), self.token.encode())


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
