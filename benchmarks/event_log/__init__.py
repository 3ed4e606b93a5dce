"""What the event log takes of each batch."""
