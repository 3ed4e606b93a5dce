"""How fast change flows apply events to a large table."""
