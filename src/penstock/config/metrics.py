"""What a pipeline file says about metrics: where they are served, written and sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.config.secret import SecretReference


@dataclass(frozen=True, slots=True)
class Otlp:
    """A receiver of OpenTelemetry's protocol over HTTP. The values of `headers` are secrets."""

    endpoint: str | SecretReference
    headers: Mapping[str, SecretReference] = field(default_factory=dict)
    interval: float = 60.0


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """Where the metrics of a run go; with all of it None there are none.

    `address` that is not of this machine alone needs `certificate`, `key` and `token`.
    """

    port: int | None = None
    address: str = "127.0.0.1"
    certificate: Path | None = None
    key: Path | None = None
    token: SecretReference | None = None
    textfile: Path | None = None
    otlp: Otlp | None = None

    @property
    def declared(self) -> bool:
        """Whether any destination of metrics is declared."""
        return any(setting is not None for setting in (self.port, self.textfile, self.otlp))
