"""Each flow: what it is declared as, how it behaved over time, and whether it keeps up."""
