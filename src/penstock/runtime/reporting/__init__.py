"""What a run reports: events, and who follows them."""
