"""Sends the metrics by OpenTelemetry's protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from penstock.config import Otlp, SecretReference
from penstock.errors import ConfigError
from penstock.events import Event, batch_progress_of
from penstock.metrics.definitions import BATCH_SECONDS, DURATION, METRICS, Kind, Metric
from penstock.metrics.projection import MetricsProjection

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation

_TIMEOUT_SECONDS: Final = 10.0
_ONE_COLLECTION: Final = 0.2
"""Seconds within which all that is read belongs to one export."""
_CLOSE_MILLISECONDS: Final = 5_000.0


class OtlpExport:
    """Sends the projection's values every interval, and once more at the end, in a thread of OpenTelemetry's.

    A receiver that does not answer costs that thread's time only; what it missed, the next values make good.

    Raises:
        ConfigError: METRICS_EXTRA_MISSING, SECRET_NOT_FOUND.
    """

    def __init__(self, projection: MetricsProjection, settings: Otlp) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            raise ConfigError("METRICS_EXTRA_MISSING") from None
        endpoint = settings.endpoint
        exporter = OTLPMetricExporter(
            endpoint=endpoint.resolve() if isinstance(endpoint, SecretReference) else endpoint,
            headers={name: reference.resolve() for name, reference in settings.headers.items()},
            timeout=_TIMEOUT_SECONDS,
        )
        reader = PeriodicExportingMetricReader(
            exporter,
            export_interval_millis=1000 * settings.interval,
            export_timeout_millis=1000 * _TIMEOUT_SECONDS,
        )
        buckets = ExplicitBucketHistogramAggregation(BATCH_SECONDS)
        self._provider = MeterProvider(
            [reader],
            Resource.create({"service.name": "penstock", "service.version": metadata.version("penstock")}),
            shutdown_on_exit=False,
            views=[View(instrument_name=DURATION.otel_name, aggregation=buckets)],
        )
        self._projection = projection
        self._found: Mapping[Metric, Sequence[tuple[Mapping[str, str], float]]] = {}
        self._collected_at = -_ONE_COLLECTION
        meter = self._provider.get_meter("penstock")
        for metric in METRICS:
            make = meter.create_observable_counter if metric.kind is Kind.COUNTER else meter.create_observable_gauge
            if metric.kind is not Kind.HISTOGRAM:
                make(metric.otel_name, [self._observing(metric)], metric.unit, metric.help)
        self._durations = meter.create_histogram(DURATION.otel_name, DURATION.unit, DURATION.help)

    def apply(self, event: Event) -> None:
        """Takes the duration of a batch into account; the other values are read when they are sent."""
        batch = batch_progress_of(event)
        if batch is None or batch.batch_duration_ms is None or event.origin.dataset_name is None:
            return
        flow = event.origin.flow_name or event.origin.dataset_name
        values = (event.origin.pipeline_name, event.origin.dataset_name, flow)
        self._durations.record(batch.batch_duration_ms / 1000, dict(zip(DURATION.labels, values, strict=True)))

    def close(self) -> None:
        """Sends the last values, and waits some seconds for that."""
        self._provider.shutdown(timeout_millis=_CLOSE_MILLISECONDS)

    def _observing(self, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        from opentelemetry.metrics import Observation

        def observe(_: Any) -> Iterable[Observation]:
            return [Observation(value, dict(labels)) for labels, value in self._values().get(metric, ())]

        return observe

    def _values(self) -> Mapping[Metric, Sequence[tuple[Mapping[str, str], float]]]:
        """Returns the values by metric; OpenTelemetry asks for each metric in turn, and they are computed once."""
        if time.monotonic() - self._collected_at > _ONE_COLLECTION:
            found: dict[Metric, list[tuple[Mapping[str, str], float]]] = {}
            for metric, labels, value in self._projection.samples():
                found.setdefault(metric, []).append((labels, value))
            self._found, self._collected_at = found, time.monotonic()
        return self._found
