"""Settings that an accelerator shares with the defaults of a session; read before PySpark is loaded."""

from __future__ import annotations

CHECKPOINT_INTERVAL = "spark.databricks.delta.properties.defaults.checkpointInterval"
DEFAULT_CHECKPOINT_INTERVAL = "50"
