"""What a small batch takes with the storage in each kind of store, and on a cluster, against a disk."""
