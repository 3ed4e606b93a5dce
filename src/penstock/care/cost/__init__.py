"""What a pipeline costs, and would cost on another schedule: `penstock cost` and the dashboard's page Cost."""
