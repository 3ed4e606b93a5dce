"""Runs the user's pipeline files and collects their declarations; never imports Spark by itself."""

from penstock.declare.code.loader import load_pipeline
from penstock.declare.code.user_errors import one_line
from penstock.declare.registry import PipelineRegistry
from penstock.declare.spellings import SPELLINGS
from penstock.declare.user_frames import failure_location

__all__ = ["SPELLINGS", "PipelineRegistry", "failure_location", "load_pipeline", "one_line"]
