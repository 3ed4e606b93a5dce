"""Messages whose schemas are in a registry: Confluent's wire format, and the client of its REST API."""

from penstock.spark.sources.schema_registry.avro_messages import avro_decoder
from penstock.spark.sources.schema_registry.decoding import decoded_columns
from penstock.spark.sources.schema_registry.protobuf_messages import protobuf_decoder
from penstock.spark.sources.schema_registry.settings import fails_fast, registry_of

__all__ = ["avro_decoder", "decoded_columns", "fails_fast", "protobuf_decoder", "registry_of"]
