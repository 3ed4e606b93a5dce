"""The checkpoints of Spark's streaming queries as files: read without Spark, never guessed at."""
