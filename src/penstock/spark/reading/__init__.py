"""The user's reads on their way to Penstock: hooks on PySpark, recorded options, names of sources."""
