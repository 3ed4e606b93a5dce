"""The options of a cloudFiles read: their names, what they ask for, checked and typed."""
