"""Refreshes a materialized view by what has changed in its inputs, instead of computing all of it again."""
