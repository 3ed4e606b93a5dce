"""What is known of the flows' checkpoints without Spark: which there are, what they say, whether they are sound."""
