"""One execution of a flow: its schedule, retries, targets and accounting."""
