"""Runs whose metrics are asked for, and what they answer."""

from __future__ import annotations

import http.client
import ssl
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from penstock.config import MetricsSettings, SecretReference
from penstock.events import BatchProgress, EventLog, EventType, builders
from penstock.metrics.follower import Metrics

CANARY = "canary-t0ken"

Values = dict[str, dict[tuple[tuple[str, str], ...], float]]


def values_of(text: str) -> Values:
    found: Values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def secret(value: str) -> SecretReference:
    return SecretReference("token", "env", "TOKEN", None, lambda: value)


def batch(log: EventLog, number: int = 0, dataset: str = "shop.orders") -> None:
    built = builders.flow_batch("orders", BatchProgress(number, 7, 7, batch_duration_ms=300))
    log.append(EventType.FLOW_PROGRESS, *built, dataset=dataset, flow="orders")


def asking(url: str, context: ssl.SSLContext | None = None, **headers: str) -> tuple[int, str]:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    port = int(host.rpartition(":")[2])
    connection = (
        http.client.HTTPSConnection("localhost", port, context=context, timeout=5)
        if scheme == "https"
        else http.client.HTTPConnection("localhost", port, timeout=5)
    )
    try:
        connection.request("GET", f"/{path}", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def served(log: EventLog, urls: list[str], **settings: Any) -> Metrics:
    return Metrics(MetricsSettings(**{"port": 0, **settings}), log, on_ready=urls.append)
