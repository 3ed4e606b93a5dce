"""Object stores: reached without Spark, written on conditions, and what they say when they refuse."""
