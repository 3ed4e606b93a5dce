"""How quickly the dashboard shows what is in a long event log."""
