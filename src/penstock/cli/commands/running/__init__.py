"""Commands that run a pipeline or a script, and show the dashboard."""
