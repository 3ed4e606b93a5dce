"""Alerts: what the event log says is wrong, told once to whom the pipeline file names, and once when it is over."""
