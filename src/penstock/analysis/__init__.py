"""Calls each dataset function under a resolver and applies the semantic rules."""

from penstock.analysis.catalog import check_view_read
from penstock.analysis.resolver import Resolver

__all__ = ["Resolver", "check_view_read"]
