"""Azure Event Hubs, over its Kafka endpoint: there is no connector of its own for Spark 4."""

from penstock.spark.sources.event_hubs.columns import event_columns
from penstock.spark.sources.event_hubs.connector import EventHubsSource
from penstock.spark.sources.event_hubs.options import kafka_read

__all__ = ["EventHubsSource", "event_columns", "kafka_read"]
