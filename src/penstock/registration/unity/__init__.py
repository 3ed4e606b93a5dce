"""Registration in Unity Catalog, by its REST API for Delta tables."""
