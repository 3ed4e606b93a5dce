"""Calls each dataset function under a resolver and applies the semantic rules."""
