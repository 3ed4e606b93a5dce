"""The rules, a file for each subject."""
