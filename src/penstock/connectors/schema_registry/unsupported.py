"""Schemas that cannot be columns."""


class Unsupported(Exception):
    """A schema that has no columns; the text says why."""
