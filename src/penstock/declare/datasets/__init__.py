"""Declarations of tables and views."""
