"""What a flow learns of the files of its source."""
