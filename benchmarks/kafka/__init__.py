"""From a Kafka topic into a bronze table: how soon a message can be read, and how fast a backlog is caught up with."""
