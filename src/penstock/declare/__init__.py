"""Runs the user's pipeline files and collects their declarations; never imports Spark by itself."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.declare.code.loader import check_syntax, load_pipeline
    from penstock.declare.code.user_errors import one_line
    from penstock.declare.registry import PipelineRegistry
    from penstock.declare.spellings import SPELLINGS
    from penstock.declare.user_frames import failure_location

_PLACES = {
    "SPELLINGS": "spellings",
    "PipelineRegistry": "registry",
    "check_syntax": "code.loader",
    "failure_location": "user_frames",
    "load_pipeline": "code.loader",
    "one_line": "code.user_errors",
}

__all__ = ["SPELLINGS", "PipelineRegistry", "check_syntax", "failure_location", "load_pipeline", "one_line"]


def __getattr__(name: str) -> Any:
    # `penstock lint` only parses SQL: the loader, the pipeline file and its YAML take longer to import than that.
    if name in _PLACES:
        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
