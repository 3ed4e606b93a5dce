"""Alerts: what the event log says is wrong, sent once to whom the pipeline file names, and once when it is over."""
