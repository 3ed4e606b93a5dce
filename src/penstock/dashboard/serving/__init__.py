"""Who may reach the dashboard, and how: address, connections, tokens, its own process."""
