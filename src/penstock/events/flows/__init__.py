"""What the log says of flows: their batches, accounts, state, watermarks and columns."""
