"""Which files belong to a pipeline, and reading them safely."""
