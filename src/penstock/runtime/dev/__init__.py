"""A session that computes the changed part of a pipeline on samples after each edit; it writes no table."""
