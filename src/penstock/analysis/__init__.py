"""Calls each dataset function under a resolver and applies the semantic rules."""

from penstock.analysis.catalog import accepts_rewrites, check_view_read
from penstock.analysis.resolver import Resolver
from penstock.analysis.rules.triggers import pipeline_trigger
from penstock.analysis.view_quarantine import with_view_quarantines

__all__ = ["Resolver", "accepts_rewrites", "check_view_read", "pipeline_trigger", "with_view_quarantines"]
