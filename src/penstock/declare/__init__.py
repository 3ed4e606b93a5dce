"""Runs the user's pipeline files and collects their declarations; never imports Spark by itself."""

from penstock.declare.given_names import ignore_display
from penstock.declare.loader import load_pipeline
from penstock.declare.registry import PipelineRegistry, Registry, registration_context
from penstock.declare.spellings import SPELLINGS
from penstock.declare.user_errors import one_line, user_error
from penstock.declare.user_frames import failure_location

__all__ = [
    "SPELLINGS",
    "PipelineRegistry",
    "Registry",
    "failure_location",
    "ignore_display",
    "load_pipeline",
    "one_line",
    "registration_context",
    "user_error",
]
