"""Spark sessions: their settings, the JVM that they run in, and what it needs before it starts."""
