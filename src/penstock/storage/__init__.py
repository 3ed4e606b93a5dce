"""File systems by URI, the storage layout and the lock."""
