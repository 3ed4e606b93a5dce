"""OPTIMIZE and VACUUM of the tables of a run."""
