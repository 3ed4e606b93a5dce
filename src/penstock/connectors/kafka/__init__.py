"""Apache Kafka: `format("kafka")`, Spark's own source and sink, checked for access before a flow starts."""
