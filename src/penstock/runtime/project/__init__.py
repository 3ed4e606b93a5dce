"""A pipeline file and its code, loaded and validated."""
