"""Executes an update plan."""

from penstock.runtime.project.validation import ValidationReport, plan_update, validate
from penstock.runtime.update import UpdateOutcome, run_update

__all__ = ["UpdateOutcome", "ValidationReport", "plan_update", "run_update", "validate"]
