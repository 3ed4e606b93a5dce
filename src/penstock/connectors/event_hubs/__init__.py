"""Azure Event Hubs, over its Kafka endpoint: there is no connector of its own for Spark 4."""
