"""The dashboard: HTTP over `observe`. Reads the event log only; starts without a JVM."""

from penstock.dashboard.server import DEFAULT_PORT, Dashboard, serve, start_in_background

__all__ = ["DEFAULT_PORT", "Dashboard", "serve", "start_in_background"]
