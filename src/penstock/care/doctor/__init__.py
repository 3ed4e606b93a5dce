"""What is wrong with a storage, as `penstock doctor` and the dashboard's page Checks show it."""
