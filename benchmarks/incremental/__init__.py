"""What a refresh of a materialized view by what has changed takes, as a share of a full recompute."""
