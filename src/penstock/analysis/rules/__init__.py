"""Rules over the resolved graph, one file each."""
