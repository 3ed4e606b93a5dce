"""A long log made short: totals of its beginning, which events stay when it is compacted, and reading it from there."""
