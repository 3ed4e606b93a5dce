"""What exceptions of Spark, Delta, Hadoop and clients mean: each becomes one of Penstock's conditions."""
