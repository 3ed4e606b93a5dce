"""How long clients of the SQL endpoint wait."""
