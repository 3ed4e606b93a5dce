"""Event types, their JSON codec and the append-only event log."""
