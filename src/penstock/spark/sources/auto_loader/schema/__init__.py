"""What is known of the columns of a source: versions, how they grow, and how a batch reports what does not fit."""
