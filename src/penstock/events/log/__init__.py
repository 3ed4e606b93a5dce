"""The append-only log: its segments, its writer and readers, its totals, and the chain of the audit trail."""
