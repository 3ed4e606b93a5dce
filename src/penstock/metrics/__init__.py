"""Metrics: the numbers of a run, for Prometheus and OpenTelemetry."""
