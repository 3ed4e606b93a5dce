"""Commands of other terminals run in the process of `penstock dev`: what asks it, and what answers."""
