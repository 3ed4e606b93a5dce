"""What expectations add to the time of a flow: ten rules, a rule that drops, a rule that quarantines."""
