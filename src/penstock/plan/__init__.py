"""From a resolved graph and the observed state to an update plan. Pure."""
