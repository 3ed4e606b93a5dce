"""A set of views over a trading company, refreshed and recomputed."""
