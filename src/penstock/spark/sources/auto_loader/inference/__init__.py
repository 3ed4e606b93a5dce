"""Finding the columns of files: of a sample at first, and of new files before they are read."""
