"""Delta tables: created, altered, appended to, maintained, compared."""
