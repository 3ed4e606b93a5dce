"""Who may read which tables: grants in the storage, roles in the pipeline file."""
