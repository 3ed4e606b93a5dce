"""The user's code: its files, its imports, what it finds without one, and the errors it raises."""
