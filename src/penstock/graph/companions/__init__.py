"""Tables beside a table: its quarantine and its late rows."""
