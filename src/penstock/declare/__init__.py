"""What a pipeline file imports, and how pipeline files are loaded."""
