"""The SQL endpoint of a storage: its tables, its users, its server."""
