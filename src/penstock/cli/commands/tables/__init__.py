"""Commands for the tables of a pipeline: read, mended, maintained, dropped."""
