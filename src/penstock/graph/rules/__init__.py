"""Rules over the declared graph, one file each."""
