"""SQL as text: tokens, names, and where each character stands in the user's file."""
