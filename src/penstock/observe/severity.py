"""How bad a problem is; a module of its own, so that linting code loads nothing of a pipeline."""

from __future__ import annotations

from enum import Enum


class Severity(Enum):
    """ERROR: rows do not arrive where they should, or were counted wrong. WARNING: they will not, if this goes on."""

    ERROR = "error"
    WARNING = "warning"
