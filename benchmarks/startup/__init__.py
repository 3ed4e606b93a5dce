"""How long a person waits before anything happens: a session, `validate` of 100 tables, `status`, `--help`."""
