"""What Spark needs before it can start: Java, jars, the class archive; fetched once per user."""
