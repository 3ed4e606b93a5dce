"""How fast update mode merges changed windows into a large table."""
