"""What reaches into private parts of Spark, Delta, Hadoop or py4j: to be faster, or to close a gap of theirs."""
