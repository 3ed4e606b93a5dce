"""The files of a source: which are there, which a batch takes, what becomes of them afterwards."""
