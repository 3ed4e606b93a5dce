"""Single values of a pipeline file: lengths of time, triggers, addresses, secrets by reference."""
