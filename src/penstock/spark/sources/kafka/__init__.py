"""Kafka: what Spark's connector leaves to the operator to find out."""

from penstock.spark.sources.kafka.access import check_access
from penstock.spark.sources.kafka.endpoint import KafkaEndpoint
from penstock.spark.sources.kafka.options import check_options, plain_options

__all__ = ["KafkaEndpoint", "check_access", "check_options", "plain_options"]
