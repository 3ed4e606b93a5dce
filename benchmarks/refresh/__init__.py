"""How long a materialized view takes when something changed, and when nothing did."""
