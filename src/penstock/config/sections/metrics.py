"""What a pipeline file says about metrics: where they are served, written and sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.config.references import reference, web_address
from penstock.config.shapes import Count, Key, Section, Text, TextMap
from penstock.config.values.interval import pause_of_key
from penstock.config.values.secret import SecretReference


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


_OTLP = Section(
    (
        Key(
            "endpoint",
            Text(web_address),
            "The address that metrics are posted to, as OTLP in protobuf.",
            "http://localhost:4318/v1/metrics",
            required=True,
        ),
        Key(
            "headers",
            TextMap(reference),
            "Headers that authenticate the sender; references, because they are secrets.",
            '{api-key: "${env:OTLP_KEY}"}',
        ),
        Key(
            "interval",
            Text(pause_of_key),
            "The interval between two posts; at least a second.",
            "30 seconds",
            "1 minute",
        ),
    )
)

METRICS = Section(
    (
        Key("port", Count(), "The port that Prometheus scrapes; 0 is any free one.", "9464"),
        Key("address", Text(), "The address of the port.", "10.0.0.7", "127.0.0.1"),
        Key("certificate", Text(), "A PEM file, for https.", "metrics.pem"),
        Key("key", Text(), "The certificate's key, a PEM file; without it the certificate's file has both.", "key.pem"),
        Key("token", Text(reference), "The bearer token that a reader must send.", '"${env:METRICS_TOKEN}"'),
        Key(
            "textfile",
            Text(),
            "A file for the textfile collector of Prometheus' node exporter.",
            "/var/lib/node_exporter/orders.prom",
        ),
        Key("otlp", _OTLP, "A receiver of OpenTelemetry.", "{endpoint: http://localhost:4318/v1/metrics}"),
    )
)


def metrics_settings(values: Mapping[str, Any], folder: Path) -> MetricsSettings:
    """Returns the settings of the values of a file's section `metrics`; paths in it are relative to `folder`."""
    given = dict(values)
    for name in {"certificate", "key", "textfile"} & given.keys():
        given[name] = folder / os.path.expanduser(given[name])
    if "otlp" in given:
        given["otlp"] = Otlp(**given["otlp"])
    return MetricsSettings(**given)
