"""Executes an update plan."""

from penstock.runtime.project.validation import PlannedUpdate, ValidationReport, plan_update, validate
from penstock.runtime.update import UpdateOutcome, run_update

__all__ = ["PlannedUpdate", "UpdateOutcome", "ValidationReport", "plan_update", "run_update", "validate"]
