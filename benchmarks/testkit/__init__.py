"""How long a test of a pipeline takes: its first step, and those after it."""
