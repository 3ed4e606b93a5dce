"""Kafka: what Spark's connector leaves to the operator to find out."""

from penstock.spark.sources.kafka.access import check_access
from penstock.spark.sources.kafka.connector import KafkaSource
from penstock.spark.sources.kafka.endpoint import KafkaEndpoint
from penstock.spark.sources.kafka.options import plain_options

__all__ = ["KafkaEndpoint", "KafkaSource", "check_access", "plain_options"]
