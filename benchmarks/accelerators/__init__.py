"""How fast messages in Avro, Protobuf and JSON become columns."""
