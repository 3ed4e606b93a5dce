"""How fast a jdbc sink upserts into a large table of PostgreSQL."""
