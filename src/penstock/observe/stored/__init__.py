"""Reading the pipeline's stored tables, their quarantines and late rows, without Spark."""
