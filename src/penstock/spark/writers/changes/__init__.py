"""Change data capture into Delta: events are kept in a log, and each touched key is computed from its events."""
