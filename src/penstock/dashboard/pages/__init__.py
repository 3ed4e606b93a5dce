"""The pages of the dashboard: a file a page, each a function from the state of the log to template and values."""
