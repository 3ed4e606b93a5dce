"""What commands print: tables, progress, status, failures."""
