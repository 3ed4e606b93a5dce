"""Registration in a Hive Metastore."""
