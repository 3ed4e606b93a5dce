"""A session on a cluster: its settings, its executors, its queue."""
