"""Pure projections of the event log."""
