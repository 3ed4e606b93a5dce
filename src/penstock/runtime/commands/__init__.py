"""What single commands do with a pipeline beside an update."""
