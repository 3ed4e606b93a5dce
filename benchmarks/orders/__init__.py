"""A million orders through bronze, silver and gold: hand-written twice, `spark-pipelines`, and Penstock."""
