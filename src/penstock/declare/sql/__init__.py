"""The SQL front end: the shells of a pipeline's statements are read here, their queries by Spark."""
