"""`format("jdbc")`: rows of a stream into a table of PostgreSQL, each once."""
