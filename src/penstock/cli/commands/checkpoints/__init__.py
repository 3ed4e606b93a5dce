"""Commands for checkpoints and the state in them."""
