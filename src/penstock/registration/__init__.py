"""Tables registered in catalogs, so that other programs find them by name."""
