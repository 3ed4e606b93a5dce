"""Commands that say how a pipeline does: from its event log, without Spark."""
