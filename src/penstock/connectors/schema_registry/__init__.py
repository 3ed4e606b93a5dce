"""Messages whose schemas are in a registry: Confluent's wire format, and the client of its REST API."""
