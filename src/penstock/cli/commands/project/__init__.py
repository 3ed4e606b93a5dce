"""Commands for the files of a pipeline: made, checked, explained."""
