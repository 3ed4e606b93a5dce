"""A read-only page over the event log."""
