"""What it costs to count how late rows come."""
