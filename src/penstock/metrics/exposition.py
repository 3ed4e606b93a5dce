"""The metrics as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import (
    Metric as Family,
)
from prometheus_client.registry import Collector

from penstock.metrics.definitions import BATCH_SECONDS, DURATION, METRICS, Kind
from penstock.metrics.projection import MetricsProjection


def registry_of(projection: MetricsProjection) -> CollectorRegistry:
    """Returns a registry of prometheus_client that has the projection's values of the moment, and nothing else."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(projection))
    return registry


class _Collector(Collector):
    """Asks the projection at each scrape."""

    def __init__(self, projection: MetricsProjection) -> None:
        self._projection = projection

    def describe(self) -> Iterator[Family]:
        """Says nothing: the names are ours alone."""
        return iter(())

    def collect(self) -> Iterator[Family]:
        """Yields each metric that has a value."""
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for metric in METRICS:
            if metric.kind is not Kind.HISTOGRAM:
                kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
                families[metric.name] = kind(metric.name, metric.help, labels=metric.labels)
        for metric, labels, value in self._projection.samples():
            families[metric.name].add_metric([labels[name] for name in metric.labels], value)
        yield from (family for family in families.values() if family.samples)
        durations = HistogramMetricFamily(DURATION.name, DURATION.help, labels=DURATION.labels)
        bounds = [*(str(bound) for bound in BATCH_SECONDS), "+Inf"]
        for flow in self._projection.durations():
            buckets = [(bound, float(count)) for bound, count in zip(bounds, accumulate(flow.counts), strict=True)]
            durations.add_metric([flow.labels[name] for name in DURATION.labels], buckets, flow.sum)
        if durations.samples:
            yield durations
