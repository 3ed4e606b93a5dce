"""How fast Kinesis is read."""
