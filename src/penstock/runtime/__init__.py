"""Executes an update plan."""

from penstock.runtime.update import UpdateOutcome, run_update
from penstock.runtime.validation import PlannedUpdate, ValidationReport, plan_update, validate

__all__ = ["PlannedUpdate", "UpdateOutcome", "ValidationReport", "plan_update", "run_update", "validate"]
