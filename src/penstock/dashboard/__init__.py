"""The dashboard: HTTP over `observe`. Reads the event log only; starts without a JVM."""
